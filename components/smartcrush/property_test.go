package smartcrush_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

var note = regexp.MustCompile(` \[(?:[a-z.]+: )?(\d+) of (\d+) items shown; items? ([0-9, -]+) omitted(?:; errors in items? ([0-9, -]+))?\]$`)

// numbers reads "3-5, 8".
func numbers(tb testing.TB, ranges string) []int {
	tb.Helper()
	var all []int
	for part := range strings.SplitSeq(ranges, ", ") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || to < from || isRange && to == from {
			tb.Fatalf("range %q", part)
		}
		for i := from; i <= to; i++ {
			all = append(all, i)
		}
	}
	return all
}

// broken is a judge of its own for the items of randomItems.
func broken(tb testing.TB, item string) bool {
	tb.Helper()
	var fields struct {
		Error  any
		Status int
		Msg    string
	}
	if json.Unmarshal([]byte(item), &fields) != nil {
		return pipelinetest.ErrorLine(item)
	}
	return fields.Error != nil && fields.Error != "" || fields.Status >= 400 || pipelinetest.ErrorLine(fields.Msg)
}

func randomItems(r *rand.Rand) []string {
	items := make([]string, 6+r.IntN(200))
	rate := []int{0, 1, 5, 30, 100}[r.IntN(5)]
	for i := range items {
		fault := r.IntN(100) < rate
		switch r.IntN(12) {
		case 0:
			items[i] = []string{"null", "1e5", `"a, ] [ text"`, "[]", `[{"x": [1, 2]}]`, `"a fatal error\n"`, "{}"}[r.IntN(7)]
		case 1:
			items[i] = fmt.Sprintf(`{"status":%d,"msg":"m%d"}`, map[bool]int{true: 500, false: 200}[fault], i)
		case 2:
			items[i] = fmt.Sprintf(`{"msg":"%s", "size": %d}`, map[bool]string{true: "it failed: no such file", false: "all is well \\\" ]"}[fault], r.IntN(1000))
		default:
			items[i] = fmt.Sprintf(`{ "id":%d, "name":"\u00e9 %d", "load": %d.50, "error": %s }`, i, i, r.IntN(50), map[bool]string{true: `"E"`, false: []string{"null", `""`}[r.IntN(2)]}[fault])
		}
	}
	return items
}

// Whatever the items: what stays is one JSON document, its items are bytes of
// the text in their order, the note accounts for every other one, and no item
// with an error is hidden silently.
func TestB80B91EveryItemIsAccountedFor(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	acted := 0
	for range 600 {
		items := randomItems(r)
		separator := []string{",", ", ", ",\n  ", " ,\r\n"}[r.IntN(4)]
		before, after := "[", "]"
		if r.IntN(2) == 0 {
			before, after = "{\n\"data\": {\"rows\": [\t", " ], \"n\": 1e2 } }"
		}
		config := fmt.Sprintf(`{"min_tokens":0,"keep_first":%d,"keep_last":%d}`, r.IntN(6), r.IntN(6))
		got, reason := view(t, config, before+strings.Join(items, separator)+after)
		if reason != "" {
			if reason == pipeline.ReasonPanic || reason == pipeline.ReasonFailed {
				t.Fatalf("%s: %s", config, reason)
			}
			continue
		}
		acted++
		found := note.FindStringSubmatchIndex(got)
		if found == nil {
			t.Fatalf("%s: no note in %s", config, got)
		}
		group := func(i int) string {
			if found[2*i] < 0 {
				return ""
			}
			return got[found[2*i]:found[2*i+1]]
		}
		omitted, named := numbers(t, group(3)), numbers(t, group(4))
		var kept []string
		var hidden []int
		for i, item := range items {
			if !slices.Contains(omitted, i) {
				kept = append(kept, item)
			} else if broken(t, item) {
				hidden = append(hidden, i)
			}
		}
		for _, i := range hidden {
			if !slices.Contains(named, i) {
				t.Errorf("%s: item %d is hidden silently: %s", config, i, items[i])
			}
		}
		document := got[:found[0]]
		if !json.Valid([]byte(document)) {
			t.Errorf("%s: not JSON: %s", config, document)
		}
		if want := before + strings.Join(kept, separator) + after; document != want {
			t.Errorf("%s:\n%s\nwant\n%s", config, document, want)
		}
		if group(1) != strconv.Itoa(len(kept)) || group(2) != strconv.Itoa(len(items)) {
			t.Errorf("%s: %s for %d of %d", config, got[found[0]:], len(kept), len(items))
		}
	}
	if acted < 300 {
		t.Errorf("acted %d times", acted)
	}
}

// Whatever the text: nobody fails, the view is the text with pieces cut out,
// and it is a JSON document if the text is one.
func FuzzSmartcrush(f *testing.F) {
	for _, text := range pipelinetest.Hostile() {
		if len(text) < 3_000 {
			f.Add(text)
		}
	}
	r := rand.New(rand.NewPCG(13, 14))
	for range 10 {
		doc := `{"rows": [` + strings.Join(randomItems(r)[:6], ", ") + `]}`
		f.Add(doc)
		f.Add("some text\n" + doc + " [and more]")
		f.Add(`[{"text": ` + strconv.Quote(doc) + `}]`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, reason := view(t, `{"min_tokens":0,"min_items":2,"keep_first":1,"keep_last":0}`, text)
		if reason != "" {
			if reason == pipeline.ReasonPanic || reason == pipeline.ReasonFailed {
				t.Errorf("%q: %s", text, reason)
			}
			return
		}
		at := strings.LastIndex(got, " items shown; item")
		at = strings.LastIndex(got[:at], " [")
		end := at + strings.IndexByte(got[at:], ']') + 1
		document := got[:at] + got[end:]
		if !subsequence(text, document) {
			t.Errorf("%q became %q", text, document)
		}
		if json.Valid([]byte(text)) != json.Valid([]byte(document)) {
			t.Errorf("%q became %q", text, document)
		}
	})
}

// subsequence reports whether part is whole with bytes taken out.
func subsequence(whole, part string) bool {
	for part != "" {
		i := strings.IndexByte(whole, part[0])
		if i < 0 {
			return false
		}
		whole, part = whole[i+1:], part[1:]
	}
	return true
}

func BenchmarkSmartcrush(b *testing.B) {
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d,"name":"item %d","price":%d.50,"at":"2024-05-01T12:00:%02dZ","state":"open","error":null,"tags":["a","b"]}`, i, i, i%90, i%60)
	}
	array := "[" + strings.Join(items, ",") + "]"
	for name, text := range map[string]string{
		"array":  array,
		"string": `{"code":0,"stdout":` + strconv.Quote(array) + `}`,
		"errors": strings.ReplaceAll(array, "null", `"x"`),
		"scalar": "[" + strings.Repeat("12345.5,", 20_000) + "1]",
		"log":    strings.Repeat("[INFO] a line of a log that begins like an array\n", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			s := pipeline.Segment{Text: text, Tokens: 10_000}
			component := step(b, `{}`).Component
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := component.Rewrite(b.Context(), pipeline.View{}, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
