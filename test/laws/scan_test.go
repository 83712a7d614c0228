// Package laws holds the promises of rewriting to whole conversations: some it
// makes up itself, from seeds, and real ones where a folder of them lies beside
// the repository (or where CONTEXT_GURU_CORPUS says).
//
// The whole product runs in this process, without Envoy: parser, components,
// token counter, markers, store and splice, as several replicas that share keys
// and a store. What it sends is judged by what a provider and a client could
// see, with readers of JSON, of notes and of error lines that share no code
// with the product:
//
//   - prefix: the messages of a turn begin those of the next, whichever replica
//     sees them, after a restart, with a forgetful memo, next to other requests;
//   - restore: every marker gives back the client's text, every other edit says
//     the same, and every byte outside of tool outputs is the client's;
//   - idempotent, never larger, the same for every tenant, private to it;
//   - a view leaves out the lines it says it does, and no error in silence.
//
// Every law is also held to a product broken on purpose, which it must catch.
package laws_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// token is one JSON token as it is written.
type token struct {
	raw   []byte
	start int
	// name is set for the name of a member.
	name bool
	// depth counts the containers the token stands in.
	depth int
}

func (t token) isString() bool { return t.raw[0] == '"' }

// scanner reads tokens with the standard library's decoder and keeps how they
// are written, which that decoder does not tell, and where they stand.
type scanner struct {
	body  []byte
	dec   *json.Decoder
	end   int
	stack []frame
}

// frame is an open container.
type frame struct {
	object bool
	n      int // tokens read in it
	name   string
}

func scan(body []byte) *scanner {
	s := &scanner{body: body, dec: json.NewDecoder(bytes.NewReader(body))}
	s.dec.UseNumber() // some numbers are too large to be read as one
	return s
}

// next returns io.EOF behind the last token. A second value in the same text
// is read like the first.
func (s *scanner) next() (token, error) {
	value, err := s.dec.Token()
	if err != nil {
		return token{}, err
	}
	start := s.end
	s.end = int(s.dec.InputOffset())
	gap := len(s.body[start:s.end]) - len(bytes.TrimLeft(s.body[start:s.end], " \t\r\n,:"))
	t := token{raw: s.body[start+gap : s.end], start: start + gap, depth: len(s.stack)}
	if delim, ok := value.(json.Delim); ok && (delim == '}' || delim == ']') {
		s.stack = s.stack[:len(s.stack)-1]
		t.depth--
		return t, nil
	}
	if len(s.stack) > 0 {
		top := &s.stack[len(s.stack)-1]
		t.name = top.object && top.n%2 == 0
		if t.name {
			top.name, _ = value.(string)
		}
		top.n++
	}
	if delim, ok := value.(json.Delim); ok {
		s.stack = append(s.stack, frame{object: delim == '{'})
	}
	return t, nil
}

// path names the place of the token just read, a member's value by its name
// and an element by its number.
func (s *scanner) path() string {
	var b strings.Builder
	for _, f := range s.stack {
		b.WriteByte('/')
		if f.object {
			b.WriteString(f.name)
		} else {
			b.WriteString(strconv.Itoa(f.n - 1))
		}
	}
	return b.String()
}

// skip reads the value that comes next.
func (s *scanner) skip() error {
	depth := len(s.stack)
	for {
		if _, err := s.next(); err != nil || len(s.stack) == depth {
			return err
		}
	}
}

// replaceAt puts a value in the place of the string at a path.
func replaceAt(body []byte, path, value string) ([]byte, error) {
	s := scan(body)
	for {
		t, err := s.next()
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", path, err)
		}
		if t.isString() && !t.name && s.path() == path {
			return slices.Concat(body[:t.start], []byte(value), body[s.end:]), nil
		}
	}
}

// exactText decodes a JSON string, and returns false when it has no exact text:
// half a surrogate pair, or bytes that are not UTF-8.
func exactText(raw []byte) (string, bool) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || !utf8.Valid(raw) {
		return "", false
	}
	replaced := strings.Count(text, "\uFFFD") - bytes.Count(raw, []byte("\uFFFD"))
	for i := 0; replaced > 0 && i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i+6 <= len(raw) && strings.EqualFold(string(raw[i+1:i+6]), "ufffd") {
			replaced-- // written so by the client
		}
		i++
	}
	return text, replaced == 0
}

// list is the message array of a request: its bytes from the bracket to the
// end of the last message, and where it begins.
func list(body []byte) (messages []byte, start int, err error) {
	s := scan(body)
	for {
		t, err := s.next()
		if err != nil {
			return nil, 0, fmt.Errorf("look for the messages: %w", err)
		}
		if t.depth != 1 || !t.name || s.stack[0].name != "messages" {
			continue
		}
		if t, err = s.next(); err != nil || t.raw[0] != '[' {
			return nil, 0, fmt.Errorf("messages are no list (%w)", err)
		}
		end := s.end
		for s.dec.More() {
			if err := s.skip(); err != nil {
				return nil, 0, fmt.Errorf("read the messages: %w", err)
			}
			end = s.end
		}
		return body[t.start:end], t.start, nil
	}
}

// canonical writes a message array so that the liberties clients take between
// two turns do not show: cache directives are left out, and a content that is
// a string is written as a list of one text block. White space goes, every
// other token stays as it is.
func canonical(messages []byte) ([]byte, error) {
	s := scan(append(bytes.Clone(messages), ']'))
	var out bytes.Buffer
	put := func(raw []byte) { out.Write(raw); out.WriteByte('\n') }
	content := false
	for {
		t, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			return bytes.TrimSuffix(out.Bytes(), []byte("]\n")), nil
		case err != nil:
			return nil, fmt.Errorf("read the messages: %w", err)
		case t.name && s.stack[len(s.stack)-1].name == "cache_control":
			if err := s.skip(); err != nil {
				return nil, fmt.Errorf("read a cache directive: %w", err)
			}
			continue
		case content && t.isString():
			out.WriteString("[\n{\n\"type\"\n\"text\"\n\"text\"\n")
			put(t.raw)
			out.WriteString("}\n]\n")
		default:
			put(t.raw)
		}
		content = t.name && s.stack[len(s.stack)-1].name == "content"
	}
}
