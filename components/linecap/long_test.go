package linecap_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// Every cut is between two characters as a reader sees them, whatever they are
// made of, and is accounted for.
func TestCutsAreBetweenGraphemes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 22))
	pieces := []string{
		"k=7;", "x", " ", "日", "本語", "é", "e\u0301", "e\u0301\u0302\u0303", "👩‍👩‍👧‍👦", "🇩🇪", "🇩🇪🇫🇷", "👍🏽", "한", "ᄒ", "ᅡ", "ᆫ", "\u0600", "\u200d", "नि", "\t", "\u0300",
		"error ", "a/b/c",
	}
	cut := 0
	for range 400 {
		var b strings.Builder
		few := pieces[:1+r.IntN(len(pieces))]
		for b.Len() < []int{700, 3000, 60_000}[r.IntN(3)] {
			b.WriteString(few[r.IntN(len(few))])
		}
		line := b.String()
		borders := map[int]bool{len(line): true}
		for g, at := graphemes.FromString(line), 0; g.Next(); at += len(g.Value()) {
			borders[at] = true
		}
		body, _, reason := view(t, pipelinetest.Output{Text: line})
		if reason != "" {
			continue
		}
		cut++
		shown := strings.TrimSuffix(body, "\n")
		account(t, line, shown, 1)
		at := 0
		for _, piece := range note.Split(shown, -1) {
			i := strings.Index(line[at:], piece)
			if i < 0 {
				t.Fatalf("%.80q is no part of %.80q", piece, line)
			}
			// What repeats may be found too early, so only the first and the last
			// piece have certain places.
			if at == 0 && !borders[len(piece)] || strings.HasSuffix(shown, "..."+piece) && !borders[len(line)-len(piece)] {
				t.Fatalf("%.80q of %.200q ends inside a character", piece, line)
			}
			at += i + len(piece)
		}
	}
	if cut < 60 {
		t.Errorf("only %d lines were cut", cut)
	}
}

func FuzzView(f *testing.F) {
	f.Add("a\nb\nc\nthe same thing again\nx\nthe same thing again\nd\ne\nf\n", 3)
	f.Add("k=77;", 200)
	f.Add("<system-reminder>x</system-reminder>\nk=77;", 50)
	f.Add("{\"a\":\"error\",", 2000)
	f.Add("z\u0300", 900)
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.ToValidUTF8(strings.Repeat(text, min(max(times, 1), 40_000/(len(text)+1))), "?")
		if strings.Contains(text, "...[cut ") || strings.Contains(text, "... (left out: ") || strings.Contains(text, "  (x") {
			return
		}
		body, _, reason := view(t, pipelinetest.Output{Text: text})
		switch reason {
		case pipeline.ReasonPanic, pipeline.ReasonFailed, pipeline.ReasonKind, pipeline.ReasonEmpty:
			t.Errorf("%.300q: %s", text, reason)
		case "":
			checkView(t, text, body)
		}
	})
}

// checkView wants every line to be there: whole, cut, or as often as a count
// says.
func checkView(t *testing.T, text, body string) {
	t.Helper()
	shown := strings.Split(body, "\n")
	lines := strings.Split(text, "\n")
	at := 0
	counted := map[string]int{}
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if at < len(shown) {
			now := strings.TrimSuffix(shown[at], "\r")
			if now == line {
				at++
				continue
			}
			var n int
			if rest, found := strings.CutPrefix(now, line); found {
				if _, err := fmt.Sscanf(rest, "  (x%d)", &n); err == nil {
					counted[line] = n - 1
					at++
					continue
				}
			}
			if k := strings.LastIndex(now, "  (x"); k >= 0 && note.MatchString(now) {
				if _, err := fmt.Sscanf(now[k:], "  (x%d)", &n); err == nil {
					now = now[:k]
				}
			}
			if note.MatchString(now) && strings.HasPrefix(line, now[:strings.Index(now, "...[cut ")]) && counted[line] == 0 {
				account(t, line, now, i+1)
				if n > 0 {
					counted[line] = n - 1
				}
				at++
				continue
			}
		}
		if counted[line]--; counted[line] < 0 {
			t.Fatalf("line %d %.100q is gone from %.300q", i+1, line, body)
		}
	}
	for line, n := range counted {
		if n != 0 {
			t.Errorf("%.100q is counted %d times too often", line, n)
		}
	}
}

// Texts made to be slow.
func TestCuttingTakesLinearTime(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"errors":            strings.Repeat("error ", 400_000),
		"marks":             "z" + strings.Repeat("\u0300", 1_000_000),
		"flags":             strings.Repeat("🇩🇪", 300_000),
		"CJK":               strings.Repeat("日本", 500_000),
		"colons":            strings.Repeat(strings.Repeat("a:1 ", 4000)+"\n", 100),
		"names":             strings.Repeat(strings.Repeat("a.", 4500)+":"+strings.Repeat(":1", 4500)+"\n", 100),
		"brackets":          strings.Repeat("[", 2_000_000),
		"lines of brackets": strings.Repeat(strings.Repeat("[", 15_000)+"\n", 100),
		"reminders":         strings.Repeat("<system-reminder></system-reminder>", 60_000) + "\n" + strings.Repeat("<system-reminder>\n", 100_000),
		"slashes":           strings.Repeat("/", 2_000_000),
		"repeats":           strings.Repeat("the same thing again\nand another thing\n", 50_000),
		"different lines":   distinct(100_000),
	} {
		if _, _, reason := view(t, pipelinetest.Output{Text: text}); reason == pipeline.ReasonPanic || reason == pipeline.ReasonFailed {
			t.Errorf("%s: %s", name, reason)
		}
	}
}

func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2024-05-01T12:%02d:%02dZ INFO request finished path=/api/items/%d status=200 duration=%dms\n", i/60%60, i%60, i, i%37)
	}
	return b.String()
}

func BenchmarkLinecap(b *testing.B) {
	for name, text := range map[string]string{
		"log":     distinct(2000),
		"repeats": strings.Repeat("warning: peer dependency unmet\n"+distinct(1), 1000),
		"long":    strings.Repeat(filler(3000)+"\n", 100),
		"huge":    filler(1 << 20),
	} {
		b.Run(name, func(b *testing.B) {
			component := step(b, `{}`).Component
			s := pipeline.Segment{Text: text, Tokens: 10_000, Args: []byte(`{"command":"make all"}`)}
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
