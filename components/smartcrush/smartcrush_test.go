package smartcrush_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/smartcrush"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, smartcrush.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, smartcrush.Spec())
}

func step(tb testing.TB, config string) pipeline.Step {
	tb.Helper()
	s, err := smartcrush.Spec().Build(func(into any) error { return json.Unmarshal([]byte(config), into) }, pipeline.Deps{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// view runs the component and returns the outcome's text without the marker,
// which is checked, and the reason when there is none.
func view(tb testing.TB, config, text string) (string, pipeline.Reason) {
	tb.Helper()
	settings := pipelinetest.Settings(tb)
	settings.Steps = []pipeline.Step{step(tb, config)}
	o := pipelinetest.Run(tb, pipeline.New(settings), pipelinetest.Texts(text))[0]
	if o.Lossy == nil {
		if o.Reason != "" {
			return "", o.Reason
		}
		return "", o.Acts[0].Reason
	}
	marker := pipeline.Marker(settings.Markers.Mint(text)) + pipeline.HintFullArray
	without := strings.Replace(o.Lossy.Text, " "+marker, "", 1)
	if without == o.Lossy.Text {
		tb.Fatalf("no marker %s in %q", marker, o.Lossy.Text)
	}
	return without, ""
}

// item is the i-th of many items that are all alike.
func item(i int) string {
	return fmt.Sprintf(`{"id": %d, "name": "item number %d", "size": %d, "kind": "plain", "error": null}`, i, i, 100+i%7)
}

// list writes n items with some replaced, between what stands around them.
func list(n int, other map[int]string) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
		if o, ok := other[i]; ok {
			items[i] = o
		}
	}
	return items
}

// shown joins the items with these numbers as they stand in a list.
func shown(items []string, separator string, numbers ...int) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = items[n]
	}
	return strings.Join(parts, separator)
}

func TestFirstAndLastStayWhereverTheArrayIs(t *testing.T) {
	t.Parallel()
	items := list(200, nil)
	for name, c := range map[string]struct{ before, separator, after, note, rest string }{
		"the document":    {"[", ",", "]", "", ""},
		"pretty":          {"[\n  ", ",\n  ", "\n]", "", "\n"},
		"under a key":     {`{"total": 200, "items": [`, ", ", `], "next": null}`, "items: ", ""},
		"two keys down":   {`{"data": {"list": {"none": []}, "rows": [ `, " , ", ` ]}, "x": [1, 2, 3, 4, 5, 6]}`, "data.rows: ", ""},
		"in an item":      {`[{"type": "list", "value": [`, ",", `]}]`, "value: ", ""},
		"behind a line":   {"Found 200 results:\n[", ",", "]", "", "\n"},
		"behind a word":   {"Result: [", ",", "]", "", ""},
		"between lines":   {"$ curl [host]\nexit code: 0\n{\"items\":[", ",", "]}", "items: ", "\nand some text [behind] it\n"},
		"behind brackets": {"[1] [INFO] {done}\n[", ",", "]", "", ""},
		"odd names":       {`{"<<cg:x>> y": [`, ",", `]}`, "", ""},
	} {
		text := c.before + strings.Join(items, c.separator) + c.after + c.rest
		want := c.before + shown(items, c.separator, 0, 1, 2, 198, 199) + c.after + " [" + c.note + "5 of 200 items shown; items 3-197 omitted]" + c.rest
		if got, reason := view(t, `{}`, text); got != want {
			t.Errorf("%s (%s):\n%s\nwant\n%s", name, reason, got, want)
		}
	}
}

func TestArraysInStringsKeepTheirEscapes(t *testing.T) {
	t.Parallel()
	items := list(100, map[int]string{0: `{"id": "\u00e9 \" \\ \ud83d\ude00 \n"}`, 99: `"last\u0000\/é😀"`})
	inner := `{"rows": [` + strings.Join(items, ", ") + `], "end": "\t"}`
	quoted := strconv.Quote(inner)
	quoted = strings.ReplaceAll(quoted, "é", `\u00e9`)
	if !json.Valid([]byte(quoted)) {
		t.Fatalf("%s is not JSON", quoted)
	}
	quotedItems := make([]string, len(items))
	for i, item := range items {
		q := strconv.Quote(item)
		quotedItems[i] = strings.ReplaceAll(q[1:len(q)-1], "é", `\u00e9`)
	}
	for name, c := range map[string]struct{ before, after string }{
		"one string": {`{"code": 0, "stdout": `, `, "stderr": ""}` + "\n"},
		"MCP":        {`{"content": [{"type": "text", "text": `, `}], "isError": false}`},
	} {
		text := c.before + quoted + c.after
		start, end := strings.Index(quoted, "[")+1, strings.LastIndex(quoted, "]")
		want := c.before + quoted[:start] + shown(quotedItems, ", ", 0, 1, 2, 98, 99) + quoted[end:] + c.after
		path := map[string]string{"one string": "stdout.rows", "MCP": "content.text.rows"}[name]
		note := " [" + path + ": 5 of 100 items shown; items 3-97 omitted]"
		if rest, ok := strings.CutSuffix(want, "\n"); ok {
			want = rest + note + "\n"
		} else {
			want += note
		}
		if got, reason := view(t, `{}`, text); got != want {
			t.Errorf("%s (%s):\n%s\nwant\n%s", name, reason, got, want)
		}
	}
}

func TestP41ItemsThatReportErrorsStay(t *testing.T) {
	t.Parallel()
	for _, field := range []string{
		`"error": "x"`, `"error": {"code": 7}`, `"errors": ["x"]`, `"errors": 1`, `"failed": true`, `"failure_count": 2`, `"lastError": "x"`, `"exception": "x"`,
		`"status": 503`, `"status": "404"`, `"status": "failed"`, `"statusCode": 400`, `"http_code": 500`, `"state": "CrashLoopBackOff"`, `"code": 500`,
		`"level": "error"`, `"level": "FATAL"`, `"severity": "CRITICAL"`, `"level": 50`, `"log_level": "E"`,
		`"exit_code": 1`, `"exitCode": -1`, `"returncode": 137`, `"success": false`, `"ok": false`, `"Action": "fail"`, `"conclusion": "timed_out"`,
		`"a": {"b": [{"c": {"error": "deep"}}]}`, `"message": "connection failed"`, `"log": "line one\npanic: out of range\n"`,
	} {
		items := list(100, map[int]string{50: `{"id": 50, "name": "item number 50", "size": 101, "kind": "plain", ` + field + `}`})
		got, reason := view(t, `{}`, "["+strings.Join(items, ",")+"]")
		want := "[" + shown(items, ",", 0, 1, 2, 50, 98, 99) + "] [6 of 100 items shown; items 3-49, 51-97 omitted]"
		if got != want {
			t.Errorf("%s (%s):\n%s", field, reason, got)
		}
	}
}

// Fields that say that nothing is wrong are in every item, so that neither is
// an item with one unlike the rest.
func TestP41EmptyErrorsAreNone(t *testing.T) {
	t.Parallel()
	for _, field := range []string{
		`"error": null`, `"error": ""`, `"error": false`, `"error": {}`, `"error": {"code": 0, "list": []}`, `"errors": 0`, `"errors": []`, `"errors": "none"`, `"error_rate": 0.0`,
		`"failed": false`, `"failed": "false"`, `"failures": 0e1`, `"status": 200`, `"status": "ok"`, `"statusCode": 302`, `"level": "info"`, `"level": 30`, `"exit_code": 0`, `"exitCode": "0"`,
		`"success": true`, `"ok": true`, `"message": "0 errors, no failures"`, `"on_error": "continue"`, `"failureThreshold": 3`, `"zip_code": 500`, `"state": "CA"`, `"result": 512`,
		`"terror": "x"`, `"failover": true`, `"profile": "failsafe"`,
	} {
		items := make([]string, 100)
		for i := range items {
			items[i] = fmt.Sprintf(`{"id": %d, %s, "text": "item %d"}`, i, field, i)
		}
		got, reason := view(t, `{}`, "["+strings.Join(items, ",")+"]")
		want := "[" + shown(items, ",", 0, 1, 2, 98, 99) + "] [5 of 100 items shown; items 3-97 omitted]"
		if got != want {
			t.Errorf("%s (%s):\n%s", field, reason, got)
		}
	}
}

func TestErrorsBeyondTheBoundAreNamed(t *testing.T) {
	t.Parallel()
	other := map[int]string{}
	for i := 100; i < 200; i++ {
		other[i] = fmt.Sprintf(`{"id": %d, "name": "item number %d", "size": 101, "kind": "plain", "error": "e%d"}`, i, i, i)
	}
	other[300] = `{"id": 300, "name": "it mentions an error", "size": 101, "kind": "plain", "error": null}`
	other[301] = `{"id": 301, "name": "x", "size": 101, "kind": "plain", "error": "` + strings.Repeat("very long ", 5000) + `"}`
	items := list(400, other)
	got, reason := view(t, `{}`, "["+strings.Join(items, ",")+"]")
	// The long one would take more than its share of the room.
	want := "[" + shown(items, ",", 0, 1, 2, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 191, 192, 193, 194, 195, 196, 197, 198, 199, 398, 399) +
		"] [25 of 400 items shown; items 3-99, 111-190, 200-397 omitted; errors in items 111-190, 300-301]"
	if got != want {
		t.Errorf("(%s) %s\nwant %s", reason, got, want)
	}
}

func TestItemsUnlikeTheRestStay(t *testing.T) {
	t.Parallel()
	plain := func(i int) string {
		return fmt.Sprintf(`{"id": %d, "ms": %d, "region": "%s", "up": true, "at": {"zone": "a", "load": %d.5}}`, i, 90+i%21, []string{"eu", "us"}[i%2], i%10)
	}
	for name, odd := range map[string]string{
		"a large number":  strings.Replace(plain(60), `"ms": 108`, `"ms": 4000`, 1),
		"a small number":  strings.Replace(plain(60), `"ms": 108`, `"ms": -500`, 1),
		"a deep number":   strings.Replace(plain(60), `0.5`, `99.5`, 1),
		"a rare word":     strings.Replace(plain(60), `"eu"`, `"mars"`, 1),
		"a rare boolean":  strings.Replace(plain(60), `true`, `false`, 1),
		"a deep word":     strings.Replace(plain(60), `"a"`, `"z"`, 1),
		"a missing field": strings.Replace(plain(60), `"up": true, `, ``, 1),
		"an extra field":  strings.Replace(plain(60), `"up"`, `"note": 1, "up"`, 1),
		"null":            strings.Replace(plain(60), `108`, `null`, 1),
		"another kind":    strings.Replace(plain(60), `true`, `[]`, 1),
		"no object":       `"just a text"`,
	} {
		items := make([]string, 120)
		for i := range items {
			items[i] = plain(i)
		}
		if items[60] == odd {
			t.Fatalf("%s: nothing is odd", name)
		}
		items[60] = odd
		got, reason := view(t, `{}`, "["+strings.Join(items, ",")+"]")
		want := "[" + shown(items, ",", 0, 1, 2, 60, 118, 119) + "] [6 of 120 items shown; items 3-59, 61-117 omitted]"
		if got != want {
			t.Errorf("%s (%s):\n%s", name, reason, got)
		}
	}
}

// Where most values are equal, a little difference is nothing yet.
func TestNumbersThatAreMostlyEqual(t *testing.T) {
	t.Parallel()
	items := make([]string, 120)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id": %d, "retries": %d, "name": "item %d"}`, i, max(0, i%10-6), i)
	}
	items[60] = `{"id": 60, "retries": 500, "name": "item 60"}`
	got, reason := view(t, `{}`, "["+strings.Join(items, ",")+"]")
	if want := "[" + shown(items, ",", 0, 1, 2, 60, 118, 119) + "] [6 of 120 items shown; items 3-59, 61-117 omitted]"; got != want {
		t.Errorf("(%s):\n%s", reason, got)
	}
}

func TestPlainListsHaveNothingUnusual(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]func(i int) string{
		"numbers": strconv.Itoa,
		"words":   func(i int) string { return fmt.Sprintf(`"file_%d.go"`, i) },
		"lists":   func(i int) string { return fmt.Sprintf("[%d, %d, \"some text\"]", i, i*i) },
		"mixed": func(i int) string {
			if i%3 > 0 {
				return fmt.Sprintf(`{"id": %d, "value": "v%d"}`, i, i)
			}
			return fmt.Sprintf(`{"id": %d, "value": %d}`, i, map[bool]int{true: 1_000_000, false: i}[i == 150])
		},
		"growing": func(i int) string {
			return fmt.Sprintf(`{"id": %d, "name": "a%d", "text": "some words"}`, 1700000000000+i*997, i)
		},
		"huge": func(i int) string {
			return fmt.Sprintf(`{"n": %d00000000000000000000000000000000000000000, "e": 1E400}`, i+1)
		},
	} {
		items := make([]string, 300)
		for i := range items {
			items[i] = value(i)
		}
		got, reason := view(t, `{}`, "["+strings.Join(items, ",")+"]")
		want := "[" + shown(items, ",", 0, 1, 2, 298, 299) + "] [5 of 300 items shown; items 3-297 omitted]"
		if got != want {
			t.Errorf("%s (%s):\n%s", name, reason, got)
		}
	}
}

func TestSmallListsAndOtherTextsAreLeftAlone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 250)
	for name, c := range map[string]struct {
		config, text string
		want         pipeline.Reason
	}{
		"few tokens":  {`{}`, "[" + strings.Join(list(3, nil), ",") + "]", "below_min_tokens"},
		"few items":   {`{"min_tokens":0}`, "[" + strings.Join(list(5, nil), ",") + "]", "no_long_array"},
		"one more":    {`{"min_tokens":0}`, "[" + strings.Join(list(6, nil), ",") + "]", ""},
		"min_items":   {`{"min_tokens":0,"min_items":7}`, "[" + strings.Join(list(6, nil), ",") + "]", "no_long_array"},
		"plain text":  {`{}`, long, "no_long_array"},
		"not JSON":    {`{}`, "[" + strings.Join(list(50, nil), ","), "no_long_array"},
		"deep":        {`{}`, `{"a":{"b":{"c":{"d":[` + strings.Join(list(50, nil), ",") + `]}}}}`, "no_long_array"},
		"far":         {`{}`, strings.Repeat("some words\n", 50) + "[" + strings.Join(list(50, nil), ",") + "]", "no_long_array"},
		"mostly text": {`{}`, `{"text":"` + strings.Repeat(long, 10) + `","list":[` + strings.Join(list(8, nil), ",") + `]}`, "little_to_omit"},
		"large last":  {`{}`, "[" + strings.Join(list(8, nil), ",") + `,"` + strings.Repeat(long, 10) + `"]`, "little_to_omit"},
		"none kept":   {`{"keep_first":0,"keep_last":0,"min_items":1}`, `["` + long + `"]`, ""},
	} {
		if got, reason := view(t, c.config, c.text); reason != c.want {
			t.Errorf("%s: %q, want %q: %s", name, reason, c.want, got)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := smartcrush.Spec().Build(func(into any) error {
		return json.Unmarshal([]byte(`{"min_items":0,"min_tokens":-1,"keep_first":-2,"keep_last":-3,"marker_mode":"none"}`), into)
	}, pipeline.Deps{})
	want := "min_items must be at least 1, got 0\nmin_tokens must be at least 0, got -1\nkeep_first must be at least 0, got -2\nkeep_last must be at least 0, got -3\nmarker_mode must be full, summary or off, got \"none\""
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
