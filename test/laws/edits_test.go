package laws_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// place is a text of the request that holds a tool output.
type place struct {
	order    int // among the places
	turn     int // runs of assistant messages in front
	tool     string
	isError  bool
	original []byte // as the client wrote it
}

// places finds the tool outputs of a request by path. It reads the request as
// a client would write it down: decoded, with the roles and types that decide.
func places(body []byte) (map[string]*place, error) {
	var request struct {
		Messages []map[string]json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	p := placing{found: map[string]*place{}, called: map[string]string{}}
	assistant := false
	for i, m := range request.Messages {
		was := assistant
		role := word(m["role"])
		if assistant = role == "assistant"; assistant && !was {
			p.turn++
		}
		at := fmt.Sprintf("/messages/%d/content", i)
		switch role {
		case "tool", "function":
			p.leaves(at, m["content"], place{tool: p.called[word(m["tool_call_id"])]})
		case "user", "assistant":
			p.blocks(at, m["content"], role)
			var calls []struct {
				ID       string                `json:"id"`
				Function struct{ Name string } `json:"function"`
			}
			_ = json.Unmarshal(m["tool_calls"], &calls) // none, or of another shape
			for _, c := range calls {
				p.called[c.ID] = c.Function.Name
			}
		}
	}
	return p.found, nil
}

type placing struct {
	found  map[string]*place
	called map[string]string
	turn   int
}

func (p *placing) blocks(at string, content json.RawMessage, role string) {
	var blocks []map[string]json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return
	}
	for i, b := range blocks {
		kind := word(b["type"])
		switch {
		case kind == "tool_use" || kind == "mcp_tool_use":
			p.called[word(b["id"])] = word(b["name"])
		case kind == "tool_result" && role == "user", kind == "mcp_tool_result":
			p.leaves(fmt.Sprintf("%s/%d/content", at, i), b["content"],
				place{tool: p.called[word(b["tool_use_id"])], isError: string(b["is_error"]) == "true"})
		}
	}
}

func (p *placing) leaves(at string, content json.RawMessage, found place) {
	put := func(at string, raw json.RawMessage) {
		one := found
		one.order, one.turn, one.original = len(p.found), p.turn, raw
		p.found[at] = &one
	}
	if len(content) > 0 && content[0] == '"' {
		put(at, content)
		return
	}
	var parts []map[string]json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return
	}
	for i, part := range parts {
		if word(part["type"]) == "text" {
			put(fmt.Sprintf("%s/%d/text", at, i), part["text"])
		}
	}
}

func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// edit is one string that was sent in another form than the client's.
type edit struct {
	path         string
	place        *place // nil where no tool output is
	client, sent string
	// raw is the client's JSON string, and start and end are where its successor
	// stands in what was sent.
	raw        []byte
	start, end int
	// grown is how many bytes its JSON string is longer than the client's.
	grown int
	// ids are the markers in sent, those in the client's text left aside.
	ids []string
	// by is the component that edited it last, if the report tells; plainly is set
	// when one of those that edited it is judged plainly.
	by      string
	plainly bool
}

// compare returns the strings in which two requests differ. It is an error for
// them to differ in anything else, or in a string without exact text.
func compare(client, sent []byte, where map[string]*place) (edits []edit, err error) {
	a, b := scan(client), scan(sent)
	var restored []byte
	copied := 0
	for {
		x, errX := a.next()
		y, errY := b.next()
		if errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF) {
			break
		}
		if errX != nil || errY != nil {
			return edits, fmt.Errorf("behind bytes %d and %d: %w", a.end, b.end, errors.Join(errX, errY))
		}
		if bytes.Equal(x.raw, y.raw) {
			continue
		}
		e := edit{path: a.path(), raw: x.raw, start: y.start, end: y.start + len(y.raw), grown: len(y.raw) - len(x.raw)}
		if !x.isString() || !y.isString() || x.name {
			return edits, fmt.Errorf("%s: %.80s became %.80s", e.path, x.raw, y.raw)
		}
		var exact, alsoExact bool
		e.client, exact = exactText(x.raw)
		e.sent, alsoExact = exactText(y.raw)
		if !exact || !alsoExact {
			return edits, fmt.Errorf("%s: edited, although a text is not exact (client's %t, sent %t)", e.path, exact, alsoExact)
		}
		e.place = where[e.path]
		e.ids = newMarkers(e.client, e.sent)
		edits = append(edits, e)
		restored = append(append(restored, sent[copied:y.start]...), x.raw...)
		copied = y.start + len(y.raw)
	}
	if restored = append(restored, sent[copied:]...); !bytes.Equal(restored, client) {
		return edits, errors.New("with the client's strings put back it is not the client's request: " + parting(client, restored))
	}
	return edits, nil
}

var markerForm = regexp.MustCompile(`<<cg:([a-z2-7]{20})>>`)

// newMarkers returns the ids of markers that are more often in what was sent
// than in what the client wrote.
func newMarkers(client, sent string) (ids []string) {
	own := map[string]int{}
	for _, m := range markerForm.FindAllStringSubmatch(client, -1) {
		own[m[1]]++
	}
	for _, m := range markerForm.FindAllStringSubmatch(sent, -1) {
		if own[m[1]]--; own[m[1]] < 0 && !slices.Contains(ids, m[1]) {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// parting shows where two texts part.
func parting[T ~string | ~[]byte](a, b T) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	const around = 50
	near := func(s T) string { return string(s[max(0, at-around):min(len(s), at+around)]) }
	return fmt.Sprintf("they part at byte %d of %d and %d: %q and %q", at, len(a), len(b), near(a), near(b))
}
