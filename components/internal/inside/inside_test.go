package inside_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/components/internal/inside"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

const lines = "one\ntwo\n\"three\"\nfour\n"

func quoted(text string) string {
	value, err := json.Marshal(text)
	if err != nil {
		return ""
	}
	return string(value)
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
		frames     int
	}{
		"plain":            {lines, lines, 0},
		"a string":         {`{"stdout":` + quoted(lines) + `,"exit_code":0}`, lines, 1},
		"two strings deep": {`{"text":` + quoted(`{"stdout":`+quoted(lines)+`}`) + `}`, lines, 2},
		"few lines":        {`{"stdout":"one\ntwo"}`, "", 0},
		"a small part":     {`{"stdout":"a\nb\nc\nd","rows":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}`, "", 0},
		"a document":       {`{"text":` + quoted("[\n1,\n2,\n3\n]") + `}`, "", 0},
		"half a surrogate": {`{"text":"a\nb\nc\nd\n\ud83d"}`, "", 0},
		"a name":           {`{` + quoted(lines) + `:1}`, "", 0},
		"no JSON":          {`{"stdout":"a\nb\nc\nd\n`, "", 0},
		"a header":         {"Exit code: 0\nOutput:\n" + lines, strings.TrimSpace(lines), 1},
	} {
		if c.frames == 0 {
			c.want = c.text
		}
		got, frames := inside.Split(c.text)
		if got != c.want || len(frames) != c.frames {
			t.Errorf("%s: %q in %d frames, want %q in %d", name, got, len(frames), c.want, c.frames)
		}
	}
}

// Put back into its frames, what was taken out is the text again.
func FuzzSplit(f *testing.F) {
	f.Add(`{"stdout":"a\nb\nc\nd\n\u00e9 \/ \"","exit_code":0}`)
	f.Add(`{"a":"{\"b\":\"x\\ny\\nz\\n\\n\"}"}`)
	f.Add("Output:\nx\n")
	f.Fuzz(func(t *testing.T, text string) {
		part, frames := inside.Split(text)
		for _, frame := range frames {
			if frame.Quote != nil {
				back, err := frame.Unquote(frame.Quote(part))
				if err != nil || back != part {
					t.Fatalf("%q is read back as %q: %v", part, back, err)
				}
				part = frame.Quote(part)
			}
			part = frame.Before + part + frame.After
		}
		if part == text {
			return
		}
		if err := pipelinetest.SameJSON(text, part); err != nil {
			t.Errorf("%v: %s", err, cmp.Diff(text, part))
		}
	})
}
