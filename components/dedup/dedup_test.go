package dedup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/dedup"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	pipelinetest.Conform(t, dedup.Spec())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	pipelinetest.Golden(t, dedup.Spec())
}

func outcomes(t *testing.T, turns ...[]pipelinetest.Output) []*pipeline.Outcome {
	t.Helper()
	p := pipeline.New(pipelinetest.Settings(t, dedup.Spec()))
	return pipelinetest.Run(t, p, pipelinetest.Transcript(turns...))
}

// text is above the floor.
func text(word string) string { return strings.Repeat(word+" and so on, line after line\n", 30) }

func TestP37ExactCopiesOnly(t *testing.T) {
	t.Parallel()
	original := text("word")
	for name, c := range map[string]struct {
		again string
		want  bool
	}{
		"a copy":                 {original, true},
		"one blank more":         {original + " ", false},
		"one line end less":      {strings.TrimSuffix(original, "\n"), false},
		"other line ends":        {strings.ReplaceAll(original, "\n", "\r\n"), false},
		"blanks made tabs":       {strings.ReplaceAll(original, " ", "\t"), false},
		"another case":           {strings.ToUpper(original), false},
		"composed differently":   {strings.Replace(original, "word", "wo\u0301rd", 1), false},
		"a copy below the floor": {"word", false},
	} {
		first := original
		if c.again == "word" {
			first = "word"
		}
		got := outcomes(t, []pipelinetest.Output{{Text: first}}, []pipelinetest.Output{{Text: c.again}})
		if got[0].Lossy != nil || (got[1].Lossy != nil) != c.want {
			t.Errorf("%s: first %v, second %v", name, got[0].Lossy, got[1].Lossy)
		}
	}
}

func TestP8B37TheFirstCopyStaysAndTheRestPointToIt(t *testing.T) {
	t.Parallel()
	a, b := text("a"), text("b")
	got := outcomes(t,
		[]pipelinetest.Output{{Text: a}, {Text: b}, {Text: a}},
		[]pipelinetest.Output{{Text: b, Tool: "read", Args: `{"path":"x"}`}, {Text: a}})
	for i, want := range []bool{false, false, true, true, true} {
		if (got[i].Lossy != nil) != want {
			t.Errorf("output %d: %v", i, got[i].Lossy)
		}
	}
	id := pipelinetest.Keys(t).Mint(a)
	if want := "[identical to an earlier tool output] " + pipeline.Marker(id); got[2].Lossy.Text != want {
		t.Errorf("%q, want %q", got[2].Lossy.Text, want)
	}
}

func TestSizeIsThatOfTheClientsText(t *testing.T) {
	t.Parallel()
	small := strings.TrimSpace(strings.Repeat("word ", 99))
	for text, want := range map[string]bool{small: false, small + " word": true} {
		got := outcomes(t, []pipelinetest.Output{{Text: text}}, []pipelinetest.Output{{Text: text}})
		if (got[1].Lossy != nil) != want {
			t.Errorf("%d tokens: %v", got[1].Original.N, got[1].Acts)
		}
	}
}

func TestPrefixLaw(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 24 {
		texts = append(texts, text(fmt.Sprint("word", i*i%7)))
	}
	transcript := pipelinetest.Texts(texts...)
	pipelinetest.CheckPrefix(t, func() *pipeline.Pipeline {
		return pipeline.New(pipelinetest.Settings(t, dedup.Spec()))
	}, transcript)
}

func BenchmarkDedup(b *testing.B) {
	big := strings.Repeat("a line of a configuration file that is read again and again\n", 1700)
	settings := pipelinetest.Settings(b, dedup.Spec())
	settings.Memo, settings.Counter = nil, bytesCounter{}
	p := pipeline.New(settings)
	transcript := pipelinetest.Texts(big, big)
	b.SetBytes(int64(2 * len(big)))
	b.ReportAllocs()
	for b.Loop() {
		result, err := p.Run(b.Context(), transcript)
		if err != nil || result.Outcomes[1].Lossy == nil {
			b.Fatal(err, result)
		}
		p.Release(result)
	}
}

// bytesCounter takes no time, so that the benchmark shows the rest.
type bytesCounter struct{ pipelinetest.Words }

func (bytesCounter) Count(text string) pipeline.Count { return pipeline.Count{N: len(text)} }

// Texts that differ in white space alone are two: each has a marker of its own
// that gives back its own text, and none points to the other.
func TestP49WhitespaceVariantsKeepTheirOriginals(t *testing.T) {
	t.Parallel()
	original := text("word")
	variant := strings.ReplaceAll(original, "\n", " \n")
	settings := pipelinetest.Settings(t, dedup.Spec())
	transcript := pipelinetest.Texts(original, variant, original, variant)
	got := pipelinetest.Run(t, pipeline.New(settings), transcript)
	if got[0].Lossy != nil || got[1].Lossy != nil || got[2].Lossy == nil || got[3].Lossy == nil {
		t.Fatalf("%v %v %v %v", got[0].Lossy, got[1].Lossy, got[2].Lossy, got[3].Lossy)
	}
	if a, b := got[2].Lossy.ID, got[3].Lossy.ID; a == b || !settings.Markers.Matches(a, original) || !settings.Markers.Matches(b, variant) {
		t.Errorf("markers %s and %s", a, b)
	}
}

// What a client puts around an output differs from call to call; the output is
// the same, and what differs stays.
func TestAnotherHeaderIsTheSameOutput(t *testing.T) {
	t.Parallel()
	codex := func(id, seconds, code, output string) pipelinetest.Output {
		return pipelinetest.Output{Text: "Chunk ID: " + id + "\nWall time: " + seconds + " seconds\nProcess exited with code " + code + "\nOutput:\n" + output}
	}
	for name, c := range map[string]struct {
		again pipelinetest.Output
		want  string // in front of the pointer, or why there is none
	}{
		"another id":      {codex("b2", "7.5", "0", text("word")), "Chunk ID: b2\nWall time: 7.5 seconds\nProcess exited with code 0\nOutput:\n"},
		"no header":       {pipelinetest.Output{Text: strings.TrimSpace(text("word"))}, ""},
		"another output":  {codex("b2", "7.5", "0", text("other")), "no_earlier_copy"},
		"it failed since": {codex("b2", "7.5", "1", text("word")), "error_result"},
	} {
		got := outcomes(t, []pipelinetest.Output{codex("a1", "0.1", "0", text("word"))}, []pipelinetest.Output{c.again})[1]
		before := string(got.Acts[0].Reason)
		if got.Lossy != nil {
			before, _, _ = strings.Cut(got.Lossy.Text, "[identical to an earlier tool output] <<cg:")
		}
		if before != c.want {
			t.Errorf("%s: %q, want %q", name, before, c.want)
		}
	}
}
