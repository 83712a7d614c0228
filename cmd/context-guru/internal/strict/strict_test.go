package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type even int

func (e even) Validate() error {
	if e%2 != 0 {
		return fmt.Errorf("must be even, got %d", int(e))
	}
	return nil
}

type upper string

func (u *upper) UnmarshalText(text []byte) error {
	if string(text) == "bad" {
		return errors.New("must not be bad")
	}
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

type hidden struct {
	File string `json:"file"`
	Size even   `json:"size"`
}

func (*hidden) Hidden() string { return "name a file" }

type embedded struct {
	Inner int `json:"inner"`
}

type settings struct {
	embedded

	Text    string            `json:"text"`
	Flag    bool              `json:"flag"`
	I8      int8              `json:"i8"`
	U16     uint16            `json:"u16"`
	U64     uint64            `json:"u64"`
	F32     float32           `json:"f32"`
	Even    even              `json:"even"`
	Upper   upper             `json:"upper"`
	List    []string          `json:"list"`
	Deep    [][]int           `json:"deep"`
	Map     map[string]int    `json:"map"`
	Nested  map[string]nested `json:"nested"`
	Pointer *nested           `json:"pointer"`
	Free    any               `json:"free"`
	Raw     json.RawMessage   `json:"raw"`
	Secret  hidden            `json:"secret"`
	Chan    chan int          `json:"chan"`
	Untag   int
	Skipped int `json:"-"`
	private int
}

type nested struct {
	A int  `json:"a,omitempty"`
	B *int `json:"b"`
}

func defaults() settings {
	return settings{Text: "default", List: []string{"x", "y"}, Map: map[string]int{"k": 1}, I8: 7, embedded: embedded{Inner: 3}, private: 1}
}

// decode reads data onto the defaults and returns the result and the faults, a line each.
func decode(tb testing.TB, data string) (settings, string) {
	tb.Helper()
	s := defaults()
	doc, err := Parse("f", []byte(data))
	if err == nil {
		doc.Root().Decode(&s)
		err = doc.Err()
	}
	if err == nil {
		return s, ""
	}
	return s, err.Error()
}

func TestDecode(t *testing.T) {
	t.Parallel()
	five := 5
	for _, tc := range []struct {
		data string
		want func(*settings)
	}{
		{"", func(*settings) {}},
		{"inner: 4", func(s *settings) { s.Inner = 4 }},
		{"Untag: 4", func(s *settings) { s.Untag = 4 }},
		{"text: on\nflag: TRUE", func(s *settings) { s.Text, s.Flag = "on", true }},
		{"text: 2026-01-01", func(s *settings) { s.Text = "2026-01-01" }},
		{"text: '1'", func(s *settings) { s.Text = "1" }},
		{"text: !!str 1", func(s *settings) { s.Text = "1" }},
		{"text: |\n  a\n  b\n", func(s *settings) { s.Text = "a\nb\n" }},
		{`text: "\u00e9\t"`, func(s *settings) { s.Text = "é\t" }},
		{"i8: -128\nu16: 65_535\nu64: 18446744073709551615", func(s *settings) { s.I8, s.U16, s.U64 = -128, 65535, 18446744073709551615 }},
		{"f32: 1", func(s *settings) { s.F32 = 1 }},
		{"f32: -1.5e3", func(s *settings) { s.F32 = -1500 }},
		{"even: 4\nupper: abc", func(s *settings) { s.Even, s.Upper = 4, "ABC" }},
		{"list: []", func(s *settings) { s.List = []string{} }},
		{"list:", func(*settings) {}},
		{"list: [z]", func(s *settings) { s.List = []string{"z"} }},
		{"deep: [[1, 2], []]", func(s *settings) { s.Deep = [][]int{{1, 2}, {}} }},
		{"map: {z: 2}", func(s *settings) { s.Map = map[string]int{"z": 2} }},
		{"nested: {x: {a: 1}, y: }", func(s *settings) { s.Nested = map[string]nested{"x": {A: 1}, "y": {}} }},
		{"pointer: {a: 1, b: 5}", func(s *settings) { s.Pointer = &nested{A: 1, B: &five} }},
		{"pointer: ~", func(*settings) {}},
		{"free: {a: [1, 2.5, yes, true, ~, 0x10]}", func(s *settings) {
			s.Free = map[string]any{"a": []any{int64(1), 2.5, "yes", true, nil, "0x10"}}
		}},
		{"raw: {b: 1, a: [x]}", func(s *settings) { s.Raw = json.RawMessage(`{"a":["x"],"b":1}`) }},
	} {
		want := defaults()
		tc.want(&want)
		got, faults := decode(t, tc.data)
		if faults != "" {
			t.Errorf("%q: %s", tc.data, faults)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{}), cmp.Comparer(func(a, b chan int) bool { return a == b })); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.data, diff)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ data, want string }{
		{"i8: 128", "f:1:5: i8: must be a whole number that fits int8, got 128"},
		{"i8: -129", "f:1:5: i8: must be a whole number that fits int8, got -129"},
		{"u16: -1", "f:1:6: u16: must be a whole number that is not negative that fits uint16, got -1"},
		{"u64: 18446744073709551616", "f:1:6: u64: must be a whole number that is not negative that fits uint64, got 18446744073709551616"},
		{"i8: 0x1", "f:1:5: i8: must be a whole number, got 0x1; write decimal digits without quotes, unit or point"},
		{"i8: !!int x", `f:1:5: i8: must be a whole number, got x; write decimal digits without quotes, unit or point`},
		{"flag: !!bool maybe", `f:1:7: flag: must be true or false, got maybe; write true or false`},
		{"flag: n", `f:1:7: flag: must be true or false, got "n"; write false`},
		{"f32: 1e300", "f:1:6: f32: must be a number, got 1e300; write a number without quotes, such as 0.5"},
		{"f32: 017", "f:1:6: f32: must be a number, got 017; write a number without quotes, such as 0.5"},
		{"f32: -.inf", "f:1:6: f32: must be a number, got -.inf; write a number without quotes, such as 0.5"},
		{"even: 3", "f:1:7: even: must be even, got 3"},
		{"upper: bad", "f:1:8: upper: must not be bad"},
		{"upper: 5", "f:1:8: upper: must be text, got 5"},
		{"upper:", "f:1:7: upper: must be text, got nothing; write a value, or remove the line to keep the default"},
		{"list: [a, 1, ~, [b], {c: d}]", strings.Join([]string{
			`f:1:11: list[1]: must be text, got 1; put it in quotes: "1"`,
			`f:1:14: list[2]: must be text, got nothing; write a value, or remove the element`,
			`f:1:17: list[3]: must be text, got a list; write one value`,
			`f:1:22: list[4]: must be text, got a mapping; write one value`,
		}, "\n")},
		{"deep: [[1], 2]", "f:1:13: deep[1]: must be a list, got a number; write a list: [one, two], or one line each that starts with -"},
		{"map: {a.b: x}", `f:1:12: map["a.b"]: must be a whole number, got "x"; write decimal digits without quotes, unit or point`},
		{"nested: {x: {A: 1}}", "f:1:14: nested.x.A: unknown key; did you mean a?"},
		{"pointer: [1]", "f:1:1: pointer: must be a mapping, got a list; write its settings as key: value on indented lines below it"},
		{"secret: topsecret", "f:1:9: secret: must be a mapping, got text; name a file"},
		{"secret: {file: 12345, size: 777}", "f:1:16: secret.file: must be text, got a number; name a file\nf:1:29: secret.size: is not accepted, got a number"},
		{"chan: 1", "f:1:7: chan: settings of type chan int cannot be written in a file; remove it"},
		{"Skipped: 1\nprivate: 2\nSecret: {}", "f:1:1: Skipped: unknown key; known are inner, text, flag, i8, u16, u64, f32, even, upper, list, deep, map, nested, pointer, free, raw, secret, chan, Untag\n" +
			"f:2:1: private: unknown key; known are inner, text, flag, i8, u16, u64, f32, even, upper, list, deep, map, nested, pointer, free, raw, secret, chan, Untag\n" +
			"f:3:1: Secret: unknown key; did you mean secret?"},
		{"file: x", "f:1:1: file: unknown key; it belongs at secret.file"},
		{"text: a\ntext: b", "f:2:1: text: is written twice, first on line 1; remove one of them"},
		{"free: {x: 1, x: 2}", "f:1:14: free.x: is written twice, first on line 1; remove one of them"},
		{"free: &a [*a]", "f:1:7: free: anchors, aliases and merge keys are not supported; write the value out\n" +
			"f:1:11: free[0]: anchors, aliases and merge keys are not supported; write the value out"},
		{"free: {<<: {a: b}}", "f:1:8: free: anchors, aliases and merge keys are not supported; write the value out"},
		{"raw: !x {}", "f:1:6: raw: tag !x is not supported; remove the tag"},
		{"text: !x 5", "f:1:7: text: tag !x is not supported; remove the tag"},
		{"[1]", "f:1:1: must be a mapping, got a list; write its settings as key: value on indented lines below it"},
		{"text: \"a\x01\"", "f:1:9: control character 0x01; remove it"},
		{"text: \xc3\x28", "f:1:7: byte 0xc3 is not UTF-8; save the file as UTF-8"},
		{"é: x\ntext: é\xff", "f:2:8: byte 0xff is not UTF-8; save the file as UTF-8"},
		{"text: a\n---\ntext: b", "f:2:1: a second YAML document starts here; keep one document and remove the line ---"},
		{"text: a\n...\ntext: b", "f:3: not valid YAML: did not find expected <document start>; check indentation, brackets and quotes on this line and the one before"},
		{"text: a\n---\n[", "f:3: not valid YAML: did not find expected node content; check indentation, brackets and quotes on this line and the one before"},
		{"i8: 7\ntext: a\nlist: [a\nfree: b", "f:3: not valid YAML: did not find expected ',' or ']'; close the bracket that opens on this line or above it, with commas between the values"},
		{"i8: 7\nlist:\n- a\n  text: b\n", "f:4: not valid YAML: mapping values are not allowed in this context; put a value that holds a colon and a blank in quotes, and check the indentation"},
		{"i8: 7\ntext: \"a", "f:2: not valid YAML: found unexpected end of stream; close the quotes"},
		{"text: @a", "f:1: not valid YAML: found character that cannot start any token; put a value that starts with a special character in quotes"},
		{"\ttext: a", "f:1: not valid YAML: found character that cannot start any token; indent with spaces, never with tabs"},
		{strings.Repeat("#", MaxBytes+1), "f: has 1048577 bytes, at most 1048576 are read; check that this is the configuration file"},
		{"free: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "f:1:39: free" + strings.Repeat("[0]", 32) + ": is nested more than 32 levels deep; write it flatter"},
	} {
		s, faults := decode(t, tc.data)
		if diff := cmp.Diff(tc.want, faults); diff != "" {
			t.Errorf("%.80q (-want +got):\n%s", tc.data, diff)
		}
		if strings.HasPrefix(tc.data, "i8") && s.I8 != 7 || strings.HasPrefix(tc.data, "upper") && s.Upper != "" || s.Even != 0 {
			t.Errorf("%q: a value at fault was assigned: %+v", tc.data, s)
		}
	}
}

// What is read must not be written through into the defaults.
func TestDefaultsAreNotShared(t *testing.T) {
	t.Parallel()
	shared := defaults()
	s := shared
	doc, err := Parse("f", []byte("list: [q]\nmap: {k: 9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc.Root().Decode(&s)
	if diff := cmp.Diff([]string{"x", "y"}, shared.List); diff != "" {
		t.Error(diff)
	}
	if shared.Map["k"] != 1 {
		t.Errorf("the default map now holds %v", shared.Map)
	}
}

func TestManyFaultsAreCut(t *testing.T) {
	t.Parallel()
	var data strings.Builder
	for i := range 30_000 { // also: linear, or this takes minutes
		fmt.Fprintf(&data, "unknown_key_%d: {}\n", i)
	}
	_, faults := decode(t, data.String())
	lines := strings.Split(faults, "\n")
	if len(lines) != maxShown+1 || lines[maxShown] != "f: and 29900 more faults" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	doc, err := Parse("f", []byte("a:\n  b: 1\n  c: [x]\nd: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	d, _ := root.Find("d")
	root.Report("p1", "", "a", "b")
	root.Report("p2", "c2", "a", "c", 0)
	root.Report("p3", "", "a", "c", 7)
	root.Report("p4", "", "a", "zz", "yy")
	root.Report("p5", "", "nowhere")
	root.Report("p6", "")
	root.ReportNear(d, "p7", "", "q", "r")
	root.ReportNear(d, "p8", "", "a", "b")
	root.ReportKey("p9", "", "a")
	root.ReportKey("p10", "", "zz")
	want := strings.Join([]string{
		"f:1:1: a.zz.yy: p4", "f:1:1: nowhere: p5", "f:1:1: p6", "f:1:1: a: p9", "f:1:1: zz: p10",
		"f:2:6: a.b: p1", "f:2:6: a.b: p8", "f:3:3: a.c[7]: p3", "f:3:7: a.c[0]: p2; c2", "f:4:4: q.r: p7",
	}, "\n")
	if diff := cmp.Diff(want, doc.Err().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		steps []any
		want  bool
	}{
		{[]any{"a"}, true},
		{[]any{"a", "b"}, true},
		{[]any{"a", "c"}, true},
		{[]any{"a", "c", 1}, false},
		{[]any{"d"}, false},
		{[]any{"no"}, false}, // a prefix of nowhere only as text
		{[]any{"q"}, true},
		{nil, true},
	} {
		if got := root.Faulted(tc.steps...); got != tc.want {
			t.Errorf("Faulted(%v) = %v", tc.steps, got)
		}
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"grpc", "http", "max_tokens", "min_tokens", "db", "tls"}
	for name, want := range map[string]string{
		"grcp": "grpc", "htp": "http", "MAX-TOKENS": "max_tokens", "mx_tokens": "max_tokens", "d": "db", "bd": "", "zebra": "", "": "",
		strings.Repeat("x", 1000): "", "tlss": "tls",
	} {
		if got := Closest(name, known); got != want {
			t.Errorf("Closest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"inner: 1\ntext: a\nflag: true\ni8: 1\nu16: 2\nf32: .5\neven: 2\nupper: x", "list: [a]\ndeep: [[1]]\nmap: {a: 1}\nnested: {x: {a: 1}}",
		"free: {a: [1, {b: ~}]}\nraw: [x]\nsecret: {file: x}\nchan: 1", "free: &a [*a]", "? [a]\n: b", "<<: *x", "text: !!binary aGk=", "- a", "a: b: c", "\x00", "---\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		s, faults := decode(t, data)
		again, sameFaults := decode(t, data)
		if faults != sameFaults || fmt.Sprintf("%+v", s.List) != fmt.Sprintf("%+v", again.List) {
			t.Errorf("reading %q twice differs: %q and %q", data, faults, sameFaults)
		}
		for line := range strings.SplitSeq(faults, "\n") {
			if line != "" && !strings.HasPrefix(line, "f:") {
				t.Errorf("fault without a file: %q", line)
			}
			if strings.Contains(line, "panic") && !strings.Contains(data, "panic") || strings.Contains(line, "runtime error") {
				t.Errorf("panic on %q: %s", data, line)
			}
		}
	})
}
