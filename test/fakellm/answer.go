package fakellm

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// DefaultDeltaRunes is the size of a streamed piece of text: about what
	// the providers put into one event (a few tokens).
	DefaultDeltaRunes = 12
	// bytesPerToken is the usual rule of thumb for English and code.
	bytesPerToken = 4
	// defaultText is the answer without a script.
	defaultText = "This is the stand-in provider: no script, so a short answer."

	typeJSON = "application/json"
	typeSSE  = "text/event-stream; charset=utf-8"
)

// answer is an assistant message about to be put into a provider's form.
type answer struct {
	turn    *Turn
	head    head
	seq     int
	model   string
	usage   Usage
	choices [][]Block
}

// event is one server-sent event; the name is empty where the provider sends none.
type event struct {
	name string
	data []byte
}

// dialect puts answers into one provider's form.
type dialect interface {
	events(a *answer) ([]event, error)
	body(a *answer) ([]byte, error)
	failure(status int, e *ErrorBody, seq int) ([]byte, error)
	failureEvent(status int, e *ErrorBody) (event, error)
	// idHeader is the response header that carries the id of the request.
	idHeader() string
}

func dialectOf(k Kind) dialect {
	switch k {
	case KindMessages, KindCount:
		return anthropic{}
	case KindResponses:
		return responses{}
	case KindGemini:
		return gemini{}
	case KindConverse:
		return converse{}
	default:
		return openai{}
	}
}

// payload is a response that is ready to be sent.
type payload struct {
	status int
	header http.Header
	parts  [][]byte
	stream bool
	fault  *Fault
	length int // of the whole body, before a fault cuts it; -1 if unknown
}

// prepare makes the response to a request. A script that cannot be followed is
// answered with 500 and the reason.
func (s *Server) prepare(rec *Request, turn Turn, plain []byte, bad *problem) *payload {
	d := dialectOf(rec.Kind)
	err := turn.check()
	var p *payload
	switch {
	case err != nil:
	case bad != nil && turn.Raw == nil && turn.Status < http.StatusBadRequest:
		p, err = failurePayload(d, bad.status, &ErrorBody{Message: bad.text}, rec.ID)
	default:
		p, err = s.fill(d, rec, &turn, plain)
	}
	if err != nil {
		return brokenScript(d, rec, err)
	}
	if turn.RetryAfter > 0 {
		p.header.Set("Retry-After", strconv.Itoa(turn.RetryAfter))
	}
	p.header.Set(d.idHeader(), fmt.Sprintf("req_%024d", rec.ID))
	for name, value := range turn.Header {
		p.header.Set(name, value)
	}
	p.length = size(p.parts)
	if p.fault, err = p.arm(d, &turn); err != nil {
		return brokenScript(d, rec, err)
	}
	if turn.Gzip {
		p.compress()
	}
	return p
}

func brokenScript(d dialect, rec *Request, cause error) *payload {
	p, err := failurePayload(d, http.StatusInternalServerError, &ErrorBody{Message: "script: " + cause.Error()}, rec.ID)
	if err != nil { // The cause is no valid text: all that failurePayload can trip over.
		return &payload{status: http.StatusInternalServerError, header: http.Header{}}
	}
	p.length = size(p.parts)
	return p
}

func size(parts [][]byte) int {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	return n
}

func failurePayload(d dialect, status int, e *ErrorBody, seq int) (*payload, error) {
	body, err := d.failure(status, e, seq)
	return &payload{status: status, header: http.Header{"Content-Type": {typeJSON}}, parts: [][]byte{body}}, err
}

// fill makes the status, headers and body that a turn asks for.
func (s *Server) fill(d dialect, rec *Request, turn *Turn, plain []byte) (*payload, error) {
	status := turn.Status
	if status == 0 {
		status = http.StatusOK
	}
	p := &payload{status: status, header: http.Header{"Content-Type": {typeJSON}}}
	var err error
	switch {
	case turn.Raw != nil:
		p.raw(turn.Raw)
		return p, nil
	case status >= http.StatusBadRequest || turn.Error != nil && (turn.Fault == nil || turn.Fault.Do != FaultError):
		if turn.Status == 0 {
			status = http.StatusInternalServerError
		}
		return failurePayload(d, status, turn.Error, rec.ID)
	case rec.Kind == KindOther:
		p.parts, err = echoBody(rec)
		return p, err
	}
	a := newAnswer(rec, turn, plain)
	if rec.Kind == KindCount {
		p.parts, err = countBody(a)
		return p, err
	}
	if g, ok := d.(gemini); ok && rec.Stream && !strings.Contains(rec.Target, "alt=sse") {
		p.parts, err = g.items(a)
		return p, err
	}
	if turn.Stream != nil && *turn.Stream || turn.Stream == nil && rec.Stream {
		events, err := d.events(a)
		p.sse(events, turn.Frame)
		return p, err
	}
	body, err := d.body(a)
	p.parts = [][]byte{body}
	return p, err
}

func newAnswer(rec *Request, turn *Turn, plain []byte) *answer {
	a := &answer{turn: turn, head: rec.head, seq: rec.ID, model: turn.Model}
	if a.model == "" {
		a.model = rec.Model
	}
	blocks := turn.Blocks
	if blocks == nil {
		blocks = []Block{Text(defaultText)}
	}
	for i := range max(1, rec.head.n) {
		if i > 0 && i <= len(turn.Choices) && turn.Choices[i-1] != nil {
			a.choices = append(a.choices, turn.Choices[i-1])
		} else {
			a.choices = append(a.choices, blocks)
		}
	}
	if turn.Usage != nil {
		a.usage = *turn.Usage
		return a
	}
	size := 0
	for _, blocks := range a.choices {
		for _, b := range blocks {
			size += len(b.Text) + len(b.Thinking) + len(b.Tool) + len(b.Args) + len(b.Raw)
		}
	}
	a.usage = Usage{Input: max(1, len(plain)/bytesPerToken), Output: max(1, size/bytesPerToken)}
	return a
}

// raw takes over a body given byte by byte.
func (p *payload) raw(r *Raw) {
	for _, part := range r.Parts {
		p.parts = append(p.parts, []byte(part))
	}
	contentType := r.ContentType
	if contentType == "" && len(r.Parts) > 1 {
		contentType = typeSSE
	}
	if contentType != "" {
		p.header.Set("Content-Type", contentType)
	}
	p.stream = strings.HasPrefix(contentType, "text/event-stream")
}

// sse frames the events.
func (p *payload) sse(events []event, f Frame) {
	p.stream = true
	p.header.Set("Content-Type", typeSSE)
	p.header.Set("Cache-Control", "no-cache")
	for i, e := range events {
		lead := f.Between
		if i == 0 {
			lead = f.Before
		}
		p.parts = append(p.parts, f.bytes(lead, e))
	}
}

func (f Frame) bytes(lead string, e event) []byte {
	eol, space := f.EOL, " "
	if eol == "" {
		eol = "\n"
	}
	if f.NoSpace {
		space = ""
	}
	b := append(make([]byte, 0, len(lead)+len(e.name)+len(e.data)+20), lead...)
	if e.name != "" {
		b = append(append(append(append(b, "event:"...), space...), e.name...), eol...)
	}
	b = append(append(append(b, "data:"...), space...), e.data...)
	return append(append(b, eol...), eol...)
}

// arm works out the fault in terms of the body: the body is cut to what is
// sent before it, and an error event is appended. Afterwards the fault strikes
// at the end of the parts, or before the headers.
func (p *payload) arm(d dialect, turn *Turn) (*Fault, error) {
	f := turn.Fault
	if f == nil {
		return nil, nil
	}
	switch f.At {
	case AtEvents:
		p.parts = p.parts[:min(f.N, len(p.parts))]
	case AtBytes:
		p.truncate(f.N)
	}
	if f.Do != FaultError {
		return f, nil
	}
	if !p.stream { // A JSON body has no place for an error event.
		return &Fault{Do: FaultAbort, At: AtEvents}, nil
	}
	e, err := d.failureEvent(http.StatusInternalServerError, turn.Error)
	p.parts = append(p.parts, turn.Frame.bytes("", e))
	return &Fault{Do: FaultEnd, At: AtEvents}, err
}

func (p *payload) truncate(n int) {
	for i, part := range p.parts {
		if n < len(part) {
			p.parts = append(p.parts[:i], part[:n])
			return
		}
		n -= len(part)
	}
}

// compress replaces each part by its share of one gzip stream.
func (p *payload) compress() {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	for i, part := range p.parts {
		// Writes into a bytes.Buffer cannot fail.
		_, _ = z.Write(part)
		_ = z.Flush()
		if i == len(p.parts)-1 {
			_ = z.Close()
		}
		p.parts[i] = bytes.Clone(buf.Bytes())
		buf.Reset()
	}
	p.header.Set("Content-Encoding", "gzip")
	if p.length = size(p.parts); p.fault != nil {
		p.length = -1
	}
}

// encode marshals without HTML escapes, as the providers do, and keeps raw
// values as they are. Invalid UTF-8 becomes U+FFFD rather than an error.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
		jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return b, nil
}

// pieces cuts a text into pieces of n runes.
func pieces(s string, n int) []string {
	if n <= 0 {
		n = DefaultDeltaRunes
	}
	var cut []string
	start, runes := 0, 0
	for i := range s {
		if runes == n {
			cut = append(cut, s[start:i])
			start, runes = i, 0
		}
		runes++
	}
	if start < len(s) {
		cut = append(cut, s[start:])
	}
	return cut
}

// isObject reports whether a text is one JSON object.
func isObject(s string) bool {
	v := jsontext.Value(s)
	return v.Kind() == '{' && v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// quote makes a JSON string; invalid UTF-8 in it becomes U+FFFD.
func quote(s string) jsontext.Value {
	// The only error of AppendQuote is the one about invalid UTF-8.
	v, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return v
}
