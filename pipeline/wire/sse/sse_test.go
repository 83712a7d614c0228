package sse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// got is an event as a test states it.
type got struct{ raw, typ, data string }

// none stands for no data, which never holds a carriage return.
const none = "\r"

// read feeds the pieces and checks that every byte comes back.
func read(tb testing.TB, most int, pieces ...string) (events []got, last string) {
	tb.Helper()
	f := NewFramer(most)
	var back []byte
	for _, p := range pieces {
		buf := []byte(p)
		f.Feed(buf)
		var round []Event
		for {
			e, ok := f.Next()
			if !ok {
				break
			}
			round = append(round, e)
		}
		if !f.Over() {
			clear(buf[len(buf)-min(len(f.Rest()), len(buf)):]) // the piece may be used again
		}
		for _, e := range round {
			back = append(back, e.Raw...)
			g := got{raw: string(e.Raw), typ: string(e.Type), data: none}
			if e.Data != nil {
				g.data = string(e.Data)
			}
			events = append(events, g)
		}
		if f.Over() {
			back = append(back, f.Rest()...)
			if !strings.HasPrefix(strings.Join(pieces, ""), string(back)) {
				tb.Fatalf("over: %q of %q", back, pieces)
			}
			return events, "over"
		}
	}
	last = string(f.Rest())
	back = append(back, last...)
	if e, ok := f.Last(); ok && string(e.Raw) != last {
		tb.Fatalf("last %q, rest %q", e.Raw, last)
	}
	if string(back) != strings.Join(pieces, "") {
		tb.Fatalf("%q came back as %q", pieces, back)
	}
	return events, last
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream string
		want   []got
		rest   string
	}{
		"lf": {"event: a\ndata: 1\n\ndata: 2\n\n", []got{{"event: a\ndata: 1\n\n", "a", "1"}, {"data: 2\n\n", "", "2"}}, ""},
		"crlf": {
			"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n",
			[]got{{"event: a\r\ndata: 1\r\n\r\n", "a", "1"}, {"data: 2\r\n\r\n", "", "2"}},
			"",
		},
		"cr":                {"data: 1\r\rdata: 2\r\r", []got{{"data: 1\r\r", "", "1"}, {"data: 2\r\r", "", "2"}}, ""},
		"mixed":             {"data: 1\n\rdata: 2\r\n\n", []got{{"data: 1\n\r", "", "1"}, {"data: 2\r\n\n", "", "2"}}, ""},
		"no space":          {"event:a\ndata:1\n\n", []got{{"event:a\ndata:1\n\n", "a", "1"}}, ""},
		"two spaces":        {"data:  1\n\n", []got{{"data:  1\n\n", "", " 1"}}, ""},
		"several lines":     {"data: 1\ndata\ndata:3\n\n", []got{{"data: 1\ndata\ndata:3\n\n", "", "1\n\n3"}}, ""},
		"comment":           {": hi\n\ndata: 1\n: x\n\n", []got{{": hi\n\n", "", none}, {"data: 1\n: x\n\n", "", "1"}}, ""},
		"blank lines":       {"\n\ndata: 1\n\n\n", []got{{"\n", "", none}, {"\n", "", none}, {"data: 1\n\n", "", "1"}, {"\n", "", none}}, ""},
		"mark":              {mark + "data: 1\n\n" + mark + "data: 2\n\n", []got{{mark + "data: 1\n\n", "", "1"}, {mark + "data: 2\n\n", "", none}}, ""},
		"mark alone":        {mark + "\n\n", []got{{mark + "\n", "", none}, {"\n", "", none}}, ""},
		"other fields":      {"id: 7\nretry: 1\nfoo\ndata: 1\n\n", []got{{"id: 7\nretry: 1\nfoo\ndata: 1\n\n", "", "1"}}, ""},
		"type only":         {"event: a\n\n", []got{{"event: a\n\n", "a", none}}, ""},
		"last type":         {"event: a\nevent: b\ndata:\n\n", []got{{"event: a\nevent: b\ndata:\n\n", "b", ""}}, ""},
		"not ended":         {"data: 1\n\ndata: 2\n", []got{{"data: 1\n\n", "", "1"}}, "data: 2\n"},
		"colon in data":     {"data: a: b\n\n", []got{{"data: a: b\n\n", "", "a: b"}}, ""},
		"nothing":           {"", nil, ""},
		"names are exact":   {"Data: 1\ndata : 2\n data: 3\n\n", []got{{"Data: 1\ndata : 2\n data: 3\n\n", "", none}}, ""},
		"not text, but all": {"data: \xff\x00\n\n", []got{{"data: \xff\x00\n\n", "", "\xff\x00"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, rest := read(t, 1000, tc.stream)
			if diff := cmp.Diff(tc.want, events, cmp.AllowUnexported(got{})); diff != "" || rest != tc.rest {
				t.Errorf("rest %q\n%s", rest, diff)
			}
		})
		t.Run(name+", cut", func(t *testing.T) {
			t.Parallel()
			for i := range len(tc.stream) {
				sameCut(t, tc.stream, tc.stream[:i], tc.stream[i:])
			}
			sameCut(t, tc.stream, strings.Split(tc.stream, "")...)
			sameCut(t, tc.stream, bytesOf(tc.stream)...)
		})
	}
}

func bytesOf(s string) (list []string) {
	for i := range len(s) {
		list = append(list, s[i:i+1])
	}
	return list
}

// sameCut checks that a stream in pieces has the events of the whole one. Only
// a line feed behind a carriage return may change sides.
func sameCut(tb testing.TB, stream string, pieces ...string) {
	tb.Helper()
	strip := func(list []got) (out []got) {
		for _, g := range list {
			if g.data != none || g.typ != "" {
				out = append(out, got{"", g.typ, g.data})
			}
		}
		return out
	}
	want, _ := read(tb, 1000, stream)
	have, _ := read(tb, 1000, pieces...)
	if !slices.Equal(strip(want), strip(have)) {
		tb.Fatalf("%q:\n%q\nin pieces:\n%q", stream, want, have)
	}
}

// An event must leave with the piece that completes it.
func TestNothingIsHeld(t *testing.T) {
	t.Parallel()
	for _, eol := range []string{"\n", "\r\n", "\r"} {
		f := NewFramer(100)
		for i, piece := range []string{"data: 1" + eol, eol[:1], eol[1:] + "data: 2" + eol + eol} {
			f.Feed([]byte(piece))
			e, ok := f.Next()
			if want := i > 0; ok != want {
				t.Errorf("%q, piece %d: %q, %t", eol, i, e.Raw, ok)
			}
			for ok {
				_, ok = f.Next()
			}
		}
		if len(f.Rest()) > 0 {
			t.Errorf("%q: %q is held", eol, f.Rest())
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	long := "data: " + strings.Repeat("x", 100) + "\n\n"
	for name, pieces := range map[string][]string{
		"whole":  {"data: 1\n\n" + long + "data: 2\n\n"},
		"cut":    {"data: 1\n\n" + long[:60], long[60:]},
		"begun":  {"data: 1\n\n" + long[:80]},
		"bytes":  append([]string{"data: 1\n\n"}, bytesOf(long)...),
		"lines":  {"data: 1\n\n", strings.Repeat("data: 1\n", 20)},
		"no end": {"data: 1\n\n", strings.Repeat("x", 1000)},
	} {
		events, rest := read(t, 50, pieces...)
		if len(events) != 1 || rest != "over" {
			t.Errorf("%s: %q, %s", name, events, rest)
		}
	}
	if events, rest := read(t, 108, long); len(events) != 1 || rest != "" {
		t.Errorf("the limit itself: %q, %s", events, rest)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, tc := range [][3]string{
		{"event: a\ndata: 1\nid: 2\n\n", "x", "event: a\ndata: x\nid: 2\n\n"},
		{"data:1\r\n\r\n", "x", "data:x\r\n\r\n"},
		{"data: 1\r\n: c\r\ndata: 2\r\n\r\n", "x", "data: x\r\n: c\r\n\r\n"},
		{"data: 1\ndata: 2\n\n", "x\ny", "data: x\ndata: y\n\n"},
		{"data: 1\n\n", "x\ny", "data: x\ndata: y\n\n"},
		{"data: 1\rdata: 2\n\n", "x", "data: x\n\n"},
		{": c\n\n", "x", ": c\n\n"},
		{mark + "data: 1\ndata: 2\n\n", "x", "data: x\n\n"},
	} {
		f := NewFramer(100)
		f.Feed([]byte(tc[0]))
		e, ok := f.Next()
		if out := e.Append([]byte("|"), []byte(tc[1])); !ok || string(out) != "|"+tc[2] {
			t.Errorf("%q with %q: %q", tc[0], tc[1], out)
		}
	}
}

// Not parallel: testing.AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	stream := []byte(strings.Repeat("event: content_block_delta\ndata: {\"type\":\"x\"}\n\n", 50))
	for _, size := range []int{1, 17, len(stream)} {
		f := NewFramer(1 << 20)
		run := func() {
			for piece := range slices.Chunk(stream, size) {
				f.Feed(piece)
				for {
					if _, ok := f.Next(); !ok {
						break
					}
				}
			}
		}
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("pieces of %d bytes: %v allocations", size, n)
		}
	}
}

// A large event in small pieces, and many lines in one piece, must cost time in
// proportion.
func BenchmarkFeed(b *testing.B) {
	delta := "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words"}}` + "\n\n"
	for name, tc := range map[string]struct {
		stream string
		piece  int
	}{
		"events":          {strings.Repeat(delta, 1000), len(delta)},
		"whole":           {strings.Repeat(delta, 1000), 1 << 30},
		"cr":              {strings.ReplaceAll(strings.Repeat(delta, 1000), "\n", "\r"), 1 << 30},
		"bytes":           {strings.Repeat(delta, 1000), 1},
		"1 MB in small":   {"data: " + strings.Repeat("x", 1<<20) + "\n\n", 16},
		"1 MB of newline": {strings.Repeat("\n", 1<<20), 1 << 14},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(tc.stream)))
			stream := []byte(tc.stream)
			f := NewFramer(1 << 22)
			for b.Loop() {
				for piece := range slices.Chunk(stream, tc.piece) {
					f.Feed(piece)
					for {
						if _, ok := f.Next(); !ok {
							break
						}
					}
				}
			}
		})
	}
}

func FuzzFramer(f *testing.F) {
	for _, s := range []string{"event: a\r\ndata: 1\r\n\r\n", "data: 1\rdata: 2\r\r\n", mark + ": c\n\n\n", "data\n\n", "\r\n\r\n\n\r"} {
		for cut := range 5 {
			f.Add([]byte(s), uint8(cut))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint8) {
		s := string(stream)
		var pieces []string
		for piece := range slices.Chunk(stream, int(cut)%7+1) {
			pieces = append(pieces, string(piece))
		}
		if len(s) < 1000 {
			sameCut(t, s, pieces...)
		}
		want := reference(s)
		var have []got
		events, _ := read(t, 1<<20, pieces...)
		for _, e := range events {
			if e.data != none {
				have = append(have, got{"", e.typ, e.data})
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%q\nhave %q\nwant %q", s, have, want)
		}
		frames(t, stream)
	})
}

// frames checks that replacing data by itself changes nothing that is read.
func frames(tb testing.TB, stream []byte) {
	tb.Helper()
	f := NewFramer(1 << 20)
	f.Feed(append([]byte("\n"), bytes.TrimPrefix(stream, []byte(mark))...))
	for {
		e, ok := f.Next()
		if !ok {
			return
		}
		if bytes.ContainsRune(e.Data, '\r') {
			tb.Fatalf("%q holds a line end", e.Data)
		}
		// A mark means nothing at the beginning only.
		again, _ := read(tb, 1<<20, "data\n\n"+string(e.Append(nil, e.Data)))
		again = again[1:]
		if len(again) != 1 || again[0].typ != string(e.Type) || e.Data != nil && again[0].data != string(e.Data) {
			tb.Fatalf("%q became %q", e.Raw, again)
		}
	}
}

// reference reads a stream by the letter of the specification.
func reference(s string) (events []got) {
	s = strings.TrimPrefix(s, mark)
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(s, "\n")
	typ, data, has := "", "", false
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if has {
				events = append(events, got{"", typ, strings.TrimSuffix(data, "\n")})
			}
			typ, data, has = "", "", false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			typ = value
		case "data":
			data, has = data+value+"\n", true
		}
	}
	return events
}

func ExampleFramer() {
	f := NewFramer(1 << 20)
	for _, piece := range []string{"event: a\nda", "ta: 1\n\n"} {
		f.Feed([]byte(piece))
		for {
			e, ok := f.Next()
			if !ok {
				break
			}
			fmt.Printf("%s %s\n", e.Type, e.Data)
		}
	}
	// Output: a 1
}
