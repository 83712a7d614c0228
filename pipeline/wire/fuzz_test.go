package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline"
)

var dialects = []Dialect{OpenAIChat, AnthropicMessages, AnthropicPlatform, OpenAIResponses, Gemini, BedrockConverse}

// dialectOf turns a fuzzed byte into a dialect.
func dialectOf(b byte) Dialect {
	return dialects[int(b)%len(dialects)]
}

func seedBodies(f *testing.F, add func(d byte, body []byte)) {
	f.Helper()
	for _, g := range goldens(f) {
		for d := range dialects {
			add(byte(d), g.body())
		}
	}
	for seed := range uint64(120) {
		d := byte(seed % uint64(len(dialects)))
		add(d, newGenerator(seed, 20).body(dialectOf(d)))
	}
}

func FuzzParse(f *testing.F) {
	seedBodies(f, func(d byte, body []byte) { f.Add(d, body) })
	f.Fuzz(func(t *testing.T, b byte, body []byte) {
		d := dialectOf(b)
		checkOracle(t, d, body)
		checkParse(t, d, body)
	})
}

// checkParse checks what must hold of any body.
func checkParse(t *testing.T, d Dialect, body []byte) {
	t.Helper()
	before := bytes.Clone(body)
	parser := NewParser(Limits{})
	got, err := parser.Parse(d, body)
	if !bytes.Equal(before, body) {
		t.Fatalf("Parse wrote into the body")
	}
	shallow, shallowErr := NewParser(Limits{Depth: DefaultDepth - 1}).Parse(d, body)
	if (err == nil) != (shallowErr == nil) && reasonOf(t, shallowErr) != TooDeep {
		t.Fatalf("the two ways to skip disagree: %v, %v", err, shallowErr)
	}
	if err != nil {
		if reasonOf(t, err) == "" {
			t.Fatalf("no reason: %v", err)
		}
		return
	}
	if shallowErr == nil {
		if diff := cmp.Diff(foundIn(got), foundIn(shallow)); diff != "" {
			t.Fatalf("the two ways to skip disagree:\n%s", diff)
		}
	}
	if texts := slices.Collect(got.Preamble); slices.Contains(texts, "") {
		t.Fatalf("the preamble has empty texts: %q", texts)
	}
	checkOutline(t, parser.Outline(), got)
	end, turn := 0, 0
	for i := range got.Segments {
		s := &got.Segments[i]
		text, ok := blockText(got.Value(s))
		switch {
		case s.Index != i, s.Turn < turn, s.Turn > got.Turn:
			t.Fatalf("segment %d: %+v, after turn %d of %d", i, s, turn, got.Turn)
		case s.Span.Start < end, s.Span.End > len(body):
			t.Fatalf("segment %d: span %v after %d, in %d bytes", i, s.Span, end, len(body))
		case !ok, got.Value(s)[0] != '"' && d != BedrockConverse:
			t.Fatalf("segment %d is no text: %q", i, got.Value(s))
		}
		if decoded, ok := got.Original(i); ok && decoded != text {
			t.Fatalf("segment %d: decoded %q, want %q", i, decoded, text)
		}
		end, turn = s.Span.End, s.Turn
	}
	if out, err := Splice(nil, body, nil); err != nil || !bytes.Equal(out, body) {
		t.Fatalf("without edits: %q, %v", out, err)
	}
}

// checkOutline checks that the elements are whole JSON values, with nothing but
// commas and white space around them, and as many as there are messages.
func checkOutline(t *testing.T, o Outline, got *pipeline.Transcript) {
	t.Helper()
	if o.Cut {
		return
	}
	var rest []byte
	at := o.Value.Start
	for _, e := range o.Elements {
		// The decoder is asked what the parser takes: JSON of any UTF-8.
		if err := new(jsontext.Value(bytes.Clone(got.Body[e.Span.Start:e.Span.End]))).Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
			t.Fatalf("no element: %q: %v", got.Body[e.Span.Start:e.Span.End], err)
		}
		rest = append(rest, got.Body[at:e.Span.Start]...)
		at = e.Span.End
	}
	rest = append(rest, got.Body[at:o.Value.End]...)
	want := "[" + strings.Repeat(",", max(0, len(o.Elements)-1)) + "]"
	if got.Body[o.Value.Start] != '[' {
		want = ""
	}
	if compact := strings.Join(strings.Fields(string(rest)), ""); compact != want && got.Body[o.Value.Start] != '"' {
		t.Fatalf("around the elements stands %q", rest)
	}
	if want != "" && len(o.Elements) != got.Messages {
		t.Fatalf("%d elements, %d messages", len(o.Elements), got.Messages)
	}
}

func FuzzSplice(f *testing.F) {
	seedBodies(f, func(d byte, body []byte) {
		f.Add(d, body, uint64(0x5555), "new text|é\n\"\\</|\x00😀\u2028||{\"a\":[1.0]}|[ 1 ]")
	})
	f.Fuzz(func(t *testing.T, b byte, body []byte, which uint64, texts string) {
		d := dialectOf(b)
		before, err := NewParser(Limits{}).Parse(d, body)
		if err != nil {
			return
		}
		choice := strings.Split(strings.ToValidUTF8(texts, "?"), "|")
		var patches []Patch
		for i := range before.Segments {
			if which>>(i%64)&1 != 0 {
				patches = append(patches, Patch{Span: before.Segments[i].Span, Text: choice[i%len(choice)]})
			}
		}
		checkSplice(t, d, before, patches)
	})
}

// checkSplice checks that the patches change what they should and nothing else.
func checkSplice(t *testing.T, d Dialect, before *pipeline.Transcript, patches []Patch) {
	t.Helper()
	out, err := Splice(nil, before.Body, patches)
	if err != nil {
		t.Fatalf("Splice: %v", err)
	}
	if !json.Valid(out) {
		t.Fatalf("Splice made invalid JSON: %q of %q", out, before.Body)
	}
	after, err := NewParser(Limits{}).Parse(d, out)
	if err != nil {
		t.Fatalf("the result is unreadable: %v: %q", err, out)
	}
	if len(after.Segments) != len(before.Segments) {
		t.Fatalf("%d segments became %d: %q", len(before.Segments), len(after.Segments), out)
	}
	if diff := cmp.Diff(slices.Collect(before.Preamble), slices.Collect(after.Preamble)); diff != "" {
		t.Fatalf("edits of tool outputs changed the preamble:\n%s", diff)
	}
	// Between the edited values, and around them, the bytes are the client's.
	from, at, next := 0, 0, 0
	for i := range before.Segments {
		s, now := &before.Segments[i], &after.Segments[i]
		// Whether a Gemini function failed is seen by whether its error is empty.
		failed := s.IsError == now.IsError || d == Gemini
		if string(s.Tool) != string(now.Tool) || string(s.Args) != string(now.Args) || s.Turn != now.Turn || !failed {
			t.Fatalf("segment %d: %+v became %+v", i, s, now)
		}
		if next == len(patches) || patches[next].Span != s.Span {
			if !bytes.Equal(before.Value(s), after.Value(now)) {
				t.Fatalf("segment %d was not edited and changed", i)
			}
			continue
		}
		if text, ok := after.Original(i); !ok || text != patches[next].Text {
			t.Fatalf("segment %d reads as %q, %v, want %q", i, text, ok, patches[next].Text)
		}
		if text, ok := blockText(after.Value(now)); !ok || text != patches[next].Text {
			t.Fatalf("segment %d reads slowly as %q, %v, want %q", i, text, ok, patches[next].Text)
		}
		if !bytes.Equal(before.Body[from:s.Span.Start], out[at:now.Span.Start]) {
			t.Fatalf("bytes in front of segment %d changed", i)
		}
		from, at = s.Span.End, now.Span.End
		next++
	}
	if next != len(patches) || !bytes.Equal(before.Body[from:], out[at:]) {
		t.Fatalf("bytes behind the last edit changed")
	}
}
