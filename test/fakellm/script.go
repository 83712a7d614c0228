package fakellm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a request asks for.
type Kind string

// The kinds of request a [Server] tells apart.
const (
	// KindChat is an OpenAI Chat Completions request.
	KindChat Kind = "chat"
	// KindMessages is an Anthropic Messages request.
	KindMessages Kind = "messages"
	// KindResponses is an OpenAI Responses request.
	KindResponses Kind = "responses"
	// KindGemini is a Gemini generateContent or streamGenerateContent request.
	KindGemini Kind = "gemini"
	// KindConverse is a Bedrock Converse request.
	KindConverse Kind = "converse"
	// KindCount is an Anthropic token counting request.
	KindCount Kind = "count_tokens"
	// KindOther is everything else.
	KindOther Kind = "other"
)

// Turn scripts the answer to one request. The zero Turn answers with a short
// text. A Turn whose Status is 400 or more, or whose Error is set, answers with
// an error in the provider's form; one whose Raw is set answers with exactly
// those bytes; any other one answers with Blocks.
type Turn struct {
	// On restricts the turn to one kind of request. Empty means generation, in
	// whatever form. Token counts and other requests use up a turn only if
	// it names their kind.
	On Kind `json:"on"`
	// Match restricts the turn to requests of a certain content.
	Match Match `json:"match"`
	// When restricts the turn further. The request's body is nil if it is not kept.
	When func(*Request) bool `json:"-"`
	// Times is how many requests the turn answers; 0 means once, negative for ever.
	Times int `json:"times"`

	// Blocks is the content of the assistant's message, in order. Nil means a
	// short text; an empty list that is not nil means an empty message.
	Blocks []Block `json:"blocks"`
	// Choices is the content of the further choices of a chat request with n > 1.
	// A choice without content of its own repeats Blocks.
	Choices [][]Block `json:"choices"`
	// Stop is the stop reason, in either provider's spelling; one the provider
	// does not know is sent as it is. Empty follows from Blocks.
	Stop string `json:"stop"`
	// StopSequence is the sequence that stopped the message (Anthropic).
	StopSequence string `json:"stop_sequence"`
	// Usage is the token usage; nil is computed from the sizes of request and answer.
	Usage *Usage `json:"usage"`
	// Model is the model named in the answer; empty repeats the request's.
	Model string `json:"model"`
	// ID is the id of the answer; empty is generated.
	ID string `json:"id"`
	// DeltaRunes is the size of the pieces that texts and arguments are
	// streamed in; 0 means [DefaultDeltaRunes].
	DeltaRunes int `json:"delta_runes"`

	// Status is the HTTP status; 0 means 200.
	Status int `json:"status"`
	// Error replaces parts of the error body that follows from Status, or of
	// the event sent by a [FaultError]; without a Status that is 500.
	Error *ErrorBody `json:"error"`
	// RetryAfter is the retry-after header in seconds; 0 sends none.
	RetryAfter int `json:"retry_after"`
	// Raw replaces the body.
	Raw *Raw `json:"raw"`
	// Header is added to the response headers, or replaces them.
	Header map[string]string `json:"header"`
	// Trailer is sent as response trailers; it makes the body chunked.
	Trailer map[string]string `json:"trailer"`

	// Stream forces (true) or refuses (false) server-sent events; nil follows the request.
	Stream *bool `json:"stream"`
	// Chunked sends a JSON body without content-length.
	Chunked bool `json:"chunked"`
	// Gzip compresses the body, flushed after every event, whatever the client accepts.
	Gzip bool `json:"gzip"`
	// Frame changes how events are framed.
	Frame Frame `json:"frame"`
	// Delay slows the answer down.
	Delay Delay `json:"delay"`
	// Split says how the body is cut into writes.
	Split Split `json:"split"`
	// Fault ends the answer early.
	Fault *Fault `json:"fault"`
	// Before is called before the response headers with event -1, then before
	// the write that carries the first byte of each event, with its index. It
	// may block: ctx ends with the client or the server. A JSON body is one event.
	Before func(ctx context.Context, event int) `json:"-"`
}

// Block is one piece of an assistant message. Exactly one of Text, Thinking,
// Tool and Raw is used, the first that is set in the order Raw, Tool, Thinking,
// Text.
type Block struct {
	// Text is visible text.
	Text string `json:"text"`
	// Thinking is reasoning text. Chat Completions has no form for it, so it
	// is left out there.
	Thinking string `json:"thinking"`
	// Signature signs the thinking; empty is generated.
	Signature string `json:"signature"`
	// Tool is the name of the tool to call.
	Tool string `json:"tool"`
	// Args is the JSON text of the call's arguments. It is streamed as it is,
	// valid or not; where Anthropic's JSON form needs an object, text that is
	// none is wrapped as {"INVALID_JSON": text}.
	Args Args `json:"args"`
	// ID is the id of the call; empty is generated.
	ID string `json:"id"`
	// Raw is provider JSON sent as it is: a whole content block for Anthropic
	// (redacted_thinking, for one), an object of delta and message members for
	// Chat Completions (function_call, for one).
	Raw jsontext.Value `json:"raw"`
}

// Args is the JSON text of a call's arguments. In a script file it is either a
// JSON value, or a string whose content is the text, which may be invalid JSON.
type Args string

// Text returns a block of visible text.
func Text(s string) Block { return Block{Text: s} }

// Thinking returns a block of reasoning with a signature; an empty one is generated.
func Thinking(s, signature string) Block { return Block{Thinking: s, Signature: signature} }

// Tool returns a tool call with the JSON text of its arguments and a generated id.
func Tool(name, args string) Block { return Block{Tool: name, Args: Args(args)} }

// ToolID returns a tool call with a given id.
func ToolID(id, name, args string) Block { return Block{Tool: name, Args: Args(args), ID: id} }

// RawBlock returns a block of provider JSON.
func RawBlock(js string) Block { return Block{Raw: jsontext.Value(js)} }

// Usage is the token usage reported. Input excludes both cache counts, as with
// Anthropic; Chat Completions reports the sum of the three as prompt_tokens.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

// ErrorBody replaces members of a provider's error object; empty members keep
// the value that follows from the status.
type ErrorBody struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Param   string `json:"param"`
	Message string `json:"message"`
	// Details is put into Anthropic's error object as "details".
	Details jsontext.Value `json:"details"`
}

// Raw is a body given byte by byte.
type Raw struct {
	// ContentType defaults to text/event-stream if there are several parts, else application/json.
	ContentType string `json:"content_type"`
	// Parts are the events, with their terminators, or the pieces of another body.
	Parts []string `json:"parts"`
}

// Match restricts a turn by what the request says; empty members match everything.
type Match struct {
	// Method is the HTTP method.
	Method string `json:"method"`
	// Path is a suffix of the URL path.
	Path string `json:"path"`
	// Header gives values of headers that must be present.
	Header map[string]string `json:"header"`
	// Model is the model requested.
	Model string `json:"model"`
	// Stream is whether server-sent events are requested.
	Stream *bool `json:"stream"`
	// Body must match the request body, decompressed. Its groups are then
	// available as ${1} or ${name} in the texts and arguments of the turn,
	// where a plain dollar sign is written $$.
	Body *regexp.Regexp `json:"body"`
}

// Frame changes how server-sent events are framed. The zero value is the
// providers' form.
type Frame struct {
	// Before is sent in front of the first event, Between in front of each other one.
	Before  string `json:"before"`
	Between string `json:"between"`
	// EOL is the line end; empty means "\n".
	EOL string `json:"eol"`
	// NoSpace leaves out the space after the colon.
	NoSpace bool `json:"no_space"`
}

// Delay slows an answer down. Every wait ends when the client goes away.
type Delay struct {
	// Headers is the time before the response headers.
	Headers time.Duration `json:"headers"`
	// First is the time between the headers, which are flushed, and the first byte.
	First time.Duration `json:"first"`
	// Event is the time before each event but the first.
	Event time.Duration `json:"event"`
	// Write is the time before each write but the first.
	Write time.Duration `json:"write"`
	// End is the time between the last byte and the end of the body.
	End time.Duration `json:"end"`
}

// SplitMode says how a body is cut into writes, each flushed on its own.
type SplitMode string

// The ways to cut a body into writes.
const (
	// SplitEvents writes one event at a time; it is the default.
	SplitEvents SplitMode = "events"
	// SplitBytes writes Size bytes at a time, across event borders.
	SplitBytes SplitMode = "bytes"
	// SplitRandom writes 1 to Size bytes at a time, drawn from Seed.
	SplitRandom SplitMode = "random"
	// SplitNone writes everything at once.
	SplitNone SplitMode = "none"
)

// Split says how a body is cut into writes.
type Split struct {
	Mode SplitMode `json:"mode"`
	// Size is the number of bytes of a write, or the largest one; 0 means 1 for
	// SplitBytes and 64 for SplitRandom.
	Size int `json:"size"`
	// Seed makes SplitRandom repeatable.
	Seed uint64 `json:"seed"`
}

// FaultPoint is where a fault strikes.
type FaultPoint string

// The points at which a fault can strike.
const (
	// AtHeaders is before the response headers; it is the default.
	AtHeaders FaultPoint = "headers"
	// AtEvents is after N events.
	AtEvents FaultPoint = "events"
	// AtBytes is after N bytes of the body.
	AtBytes FaultPoint = "bytes"
)

// FaultKind is what a fault does.
type FaultKind string

// The faults.
const (
	// FaultAbort drops the connection (HTTP/1.1) or resets the stream (HTTP/2).
	FaultAbort FaultKind = "abort"
	// FaultReset is FaultAbort with a TCP reset where the protocol is HTTP/1.1.
	FaultReset FaultKind = "reset"
	// FaultEnd ends the body cleanly, without what was still to come.
	FaultEnd FaultKind = "end"
	// FaultError sends the provider's error event, then ends the body cleanly.
	FaultError FaultKind = "error"
	// FaultHang stays silent until the client goes away or the server closes.
	FaultHang FaultKind = "hang"
)

// Fault ends an answer early.
type Fault struct {
	Do FaultKind  `json:"do"`
	At FaultPoint `json:"at"`
	// N counts what At names; beyond the end of the body it strikes at the end.
	N int `json:"n"`
}

// check reports the first member of a turn that cannot be followed.
func (t *Turn) check() error {
	switch t.On {
	case "", KindChat, KindMessages, KindResponses, KindGemini, KindConverse, KindCount, KindOther:
	default:
		return fmt.Errorf("on %q: want chat, messages, responses, gemini, converse, count_tokens or other", t.On)
	}
	if t.Status != 0 && (t.Status < 200 || t.Status > 599) {
		return fmt.Errorf("status %d: want 200 to 599", t.Status)
	}
	switch t.Split.Mode {
	case "", SplitEvents, SplitBytes, SplitRandom, SplitNone:
	default:
		return fmt.Errorf("split.mode %q: want events, bytes, random or none", t.Split.Mode)
	}
	if t.Split.Size < 0 || t.DeltaRunes < 0 || t.RetryAfter < 0 {
		return fmt.Errorf("split.size %d, delta_runes %d, retry_after %d: want none below 0", t.Split.Size, t.DeltaRunes, t.RetryAfter)
	}
	for _, blocks := range append([][]Block{t.Blocks}, t.Choices...) {
		for i, b := range blocks {
			if b.Raw != nil && !isObject(string(b.Raw)) {
				return fmt.Errorf("block %d: raw %.40q: want a JSON object", i, b.Raw)
			}
		}
	}
	return t.Fault.check()
}

func (f *Fault) check() error {
	if f == nil {
		return nil
	}
	switch f.Do {
	case FaultAbort, FaultReset, FaultEnd, FaultError, FaultHang:
	default:
		return fmt.Errorf("fault.do %q: want abort, reset, end, error or hang", f.Do)
	}
	switch f.At {
	case "", AtHeaders, AtEvents, AtBytes:
	default:
		return fmt.Errorf("fault.at %q: want headers, events or bytes", f.At)
	}
	switch {
	case f.N < 0:
		return fmt.Errorf("fault.n %d: want 0 or more", f.N)
	case f.Do == FaultError && f.At != AtEvents:
		return fmt.Errorf("fault.do error at %q: want it at events", f.At)
	case f.Do == FaultEnd && f.At != AtEvents && f.At != AtBytes:
		return fmt.Errorf("fault.do end at %q: want it at events or bytes", f.At)
	}
	return nil
}

// fits reports whether the turn answers the request, whose decompressed body
// is plain, and returns the turn with the groups of Match.Body filled in.
func (t Turn) fits(r *Request, plain []byte) (Turn, bool) {
	if t.On == "" && (r.Kind == KindCount || r.Kind == KindOther) || t.On != "" && t.On != r.Kind {
		return t, false
	}
	m := t.Match
	if m.Method != "" && m.Method != r.Method || !strings.HasSuffix(r.Path, m.Path) ||
		m.Model != "" && m.Model != r.Model || m.Stream != nil && *m.Stream != r.Stream {
		return t, false
	}
	for name, value := range m.Header {
		if !slices.Contains(r.Header.Values(name), value) {
			return t, false
		}
	}
	if t.When != nil && !t.When(r) {
		return t, false
	}
	if m.Body == nil {
		return t, true
	}
	loc := m.Body.FindSubmatchIndex(plain)
	if loc == nil {
		return t, false
	}
	fill := func(s string) string {
		return string(m.Body.Expand(nil, []byte(s), plain, loc))
	}
	t.Blocks = fillBlocks(t.Blocks, fill)
	choices := make([][]Block, len(t.Choices))
	for i, blocks := range t.Choices {
		choices[i] = fillBlocks(blocks, fill)
	}
	t.Choices = choices
	return t, true
}

func fillBlocks(blocks []Block, fill func(string) string) []Block {
	if blocks == nil {
		return nil
	}
	filled := make([]Block, len(blocks))
	for i, b := range blocks {
		b.Text, b.Thinking, b.Args = fill(b.Text), fill(b.Thinking), Args(fill(string(b.Args)))
		filled[i] = b
	}
	return filled
}
