package capture

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// maxLine bounds a line. Providers take 32 MB or less; base64 adds a third.
const maxLine = 64 << 20

// rememberedUnits bounds what is remembered of messages to know them again.
const rememberedUnits = 1 << 16

// capture looks at a file of one request per line and groups its conversations.
func (l *loader) capture(set, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	g := grouper{
		set: set, path: path, stem: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)),
		open: map[prompt.Digest][]*Conversation{}, reader: prompt.NewReader(nil, rememberedUnits),
	}
	in := bufio.NewReaderSize(f, 1<<16)
	var line []byte
	for n, offset := 1, int64(0); ; n++ {
		size, err := read(in, &line)
		if size > maxLine {
			l.note("%s:%d: left out, the line has more than %d MB", path, n, maxLine>>20)
		} else if len(bytes.TrimSpace(line)) > 0 {
			if err := g.line(line, place{offset, len(line)}); err != nil {
				l.note("%s:%d: left out, %v", path, n, err)
			}
		}
		offset += size
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	l.found = append(l.found, g.found...)
	return nil
}

// read reads the next line into a buffer, unless it is too long, and returns its
// length in the file.
func read(in *bufio.Reader, line *[]byte) (size int64, err error) {
	*line = (*line)[:0]
	for {
		part, err := in.ReadSlice('\n')
		if size += int64(len(part)); size <= maxLine {
			*line = append(*line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return size, err
		}
	}
}

// recorded is a line that says more than the body.
type recorded struct {
	Path    string          `json:"path"`
	URL     string          `json:"url"`
	Dialect string          `json:"dialect"`
	Model   string          `json:"model"`
	Body    json.RawMessage `json:"body"`
	B64     *string         `json:"body_base64"`
}

// request is what a line says.
type request struct {
	dialect wire.Dialect
	model   string
	body    []byte
}

// readLine reads one line: a body, or an object with a body and what is known
// of it.
func readLine(text []byte) (request, error) {
	var r recorded
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors and shells begin a file with it
	err := json.Unmarshal(text, &r)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			return request{}, fmt.Errorf("%s must be a string, got a JSON %s", wrong.Field, wrong.Value)
		}
		return request{}, fmt.Errorf("it is not a JSON object but a JSON %s", wrong.Value)
	}
	if err != nil {
		return request{}, fmt.Errorf("it is not a JSON object: %w", err)
	}
	out := request{body: r.Body}
	switch {
	case r.B64 != nil:
		plain, err := base64.StdEncoding.DecodeString(*r.B64)
		if err != nil {
			return out, fmt.Errorf("body_base64: %w", err)
		}
		out.body = plain
	case len(r.Body) > 0 && r.Body[0] == '"':
		plain, ok := prompt.Unquote(r.Body)
		if !ok {
			return out, errors.New("body is a string without exact text; use body_base64")
		}
		out.body = []byte(plain)
	case len(r.Body) == 0:
		r, out.body = recorded{}, bytes.TrimSpace(text)
	}
	return out, r.route(&out)
}

// route finds out what API a request is for.
func (r *recorded) route(out *request) error {
	path := r.Path
	if path == "" && r.URL != "" {
		u, err := url.Parse(r.URL)
		if err != nil {
			return fmt.Errorf("url: %w", err)
		}
		path = u.RequestURI()
	}
	ok := false
	switch {
	case counts(path):
		return errors.New("a request to count tokens is not billed")
	case path != "":
		if out.dialect, ok = wire.Route(path); !ok {
			return fmt.Errorf("path %q is not one of a known API", path)
		}
		out.model = wire.ModelInPath(path)
	case r.Dialect != "":
		if out.dialect, ok = dialectNamed(r.Dialect); !ok {
			return fmt.Errorf("dialect %q is unknown; the names are openai, anthropic, responses, gemini and converse", r.Dialect)
		}
	default:
		if out.dialect, ok = Guess(out.body); !ok {
			return errors.New(`its API cannot be told from its shape; write the line as {"path": …, "body": …}`)
		}
	}
	if out.model == "" {
		out.model = r.Model
	}
	return nil
}

// counts reports whether a path is that of a request to count the tokens of
// another one.
func counts(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for _, end := range []string{"/count_tokens", "/input_tokens", "/count-tokens", ":countTokens", "/count-tokens:rawPredict"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// grouper puts requests into conversations. A request continues the one of whose
// requests' messages it begins with the most; side requests make branches. What
// does not go beyond the opening, which is all in front of the model's first
// message, begins one, and is continued once: many conversations open alike.
type grouper struct {
	set, path, stem string
	found           []*Conversation
	reader          *prompt.Reader
	open            map[prompt.Digest][]*Conversation // by all messages of a request
}

func (g *grouper) line(text []byte, at place) error {
	r, err := readLine(text)
	if err != nil {
		return err
	}
	o, err := prompt.Read(r.body)
	if err != nil {
		return err
	}
	chains := g.chains(r.dialect, o)
	c := g.continued(chains, opening(o))
	if c == nil {
		c = &Conversation{Set: g.set, ID: fmt.Sprintf("%s-%d", g.stem, len(g.found)+1), Dialect: r.dialect, Model: r.model, path: g.path}
		g.found = append(g.found, c)
	}
	c.lines = append(c.lines, at)
	c.requests++
	if len(chains) > 0 {
		end := chains[len(chains)-1]
		if !slices.Contains(g.open[end], c) {
			g.open[end] = append(g.open[end], c)
		}
	}
	return nil
}

// continued returns the conversation that a request continues, or nil.
func (g *grouper) continued(chains []prompt.Digest, opening int) *Conversation {
	if len(chains) <= opening {
		return nil
	}
	for i, chain := range slices.Backward(chains) {
		list := g.open[chain]
		if len(list) == 0 {
			continue
		}
		if i < opening {
			g.open[chain] = list[1:]
		}
		return list[0]
	}
	return nil
}

// opening counts the messages in front of the model's first one.
func opening(o *prompt.Outline) int {
	n := 0
	for n < o.Len() && !prompt.ByModel(o.Message(n)) {
		n++
	}
	return n
}

// chains returns the digests of the first message, the first two, and so on.
func (g *grouper) chains(d wire.Dialect, o *prompt.Outline) []prompt.Digest {
	units := g.reader.Units(o)[prompt.FirstMessage:]
	chains := make([]prompt.Digest, len(units))
	at := sha256.Sum256([]byte(d))
	for i := range units {
		at = sha256.Sum256(append(at[:], units[i].Digest[:]...))
		chains[i] = at
	}
	return chains
}
