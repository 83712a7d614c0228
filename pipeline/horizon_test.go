package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// late is a horizon component made of one function.
func late(name string, f rewrite) pipeline.Spec {
	return pipeline.Define(pipeline.Meta{Name: name, Kind: pipeline.KindOffload, When: pipeline.AtHorizon}, noSettings{},
		func(noSettings, pipeline.Deps) (pipeline.Component, error) { return f, nil })
}

func outputs(v pipeline.View) []pipeline.Segment { return slices.Collect(v.Outputs()) }

// aged hides all but the newest keep outputs and says as of how many outputs,
// so that a decision taken anew differs.
func aged(keep int) pipeline.Spec {
	return late("aged", func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		n := len(outputs(v))
		if s.Index >= n-keep || s.Tokens < 50 {
			return pipeline.Decline("young_or_small"), nil
		}
		return pipeline.Offload(pipeline.Loss{Before: fmt.Sprintf("old as of %d ", n)}), nil
	})
}

// conversation is a transcript of turns with up to three outputs of all sizes.
func conversation(seed uint64, turns int) *pipeline.Transcript {
	random := rand.New(rand.NewPCG(seed, 1))
	all := make([][]pipelinetest.Output, turns)
	for i := range all {
		for range random.IntN(4) {
			text := strings.Repeat(fmt.Sprintf("word%d  ", random.IntN(5)), 1+random.IntN(200)*random.IntN(2))
			all[i] = append(all[i], pipelinetest.Output{Text: text, IsError: random.IntN(8) == 0, Args: fmt.Sprintf(`"{\"n\": %d}"`, i)})
		}
	}
	return pipelinetest.Transcript(all...)
}

// squeeze is a lossless component.
func squeeze() pipeline.Spec {
	return spec("squeeze", pipeline.KindReformat, func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace(strings.Join(strings.Fields(s.Text), " "), trusting()), nil
	})
}

func sameWords(before, after string) error {
	if strings.Join(strings.Fields(before), " ") != after {
		return fmt.Errorf("%q became %q", before, after)
	}
	return nil
}

func horizonSettings(tb testing.TB, distance int) pipeline.Settings {
	tb.Helper()
	s := pipelinetest.Settings(tb, squeeze(), aged(2), lookBack())
	s.HorizonTokens = distance
	return s
}

func TestLawsOfHorizons(t *testing.T) {
	t.Parallel()
	breaks := map[int]int{}
	for seed := range uint64(4) {
		transcript := conversation(seed, 16)
		for _, distance := range []int{0, 1, 300, 1000, 1_000_000} {
			fresh := func() *pipeline.Pipeline { return pipeline.New(horizonSettings(t, distance)) }
			planned := pipelinetest.CheckHorizons(t, fresh, transcript, pipelinetest.Words{}, distance)
			if most := len(pipelinetest.Horizons(transcript, pipelinetest.Words{}, distance)); planned > most {
				t.Errorf("seed %d, distance %d: %d planned breaks at %d horizons", seed, distance, planned, most)
			}
			breaks[distance] += planned
			outcomes := pipelinetest.Run(t, fresh(), transcript)
			pipelinetest.CheckNeverWorse(t, transcript, outcomes, pipelinetest.Words{})
			pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), sameWords)
			pipelinetest.CheckIdempotent(t, fresh(), transcript, true)
			pipelinetest.CheckIdempotent(t, fresh(), transcript, false)
		}
	}
	if breaks[0] <= breaks[300] || breaks[300] <= breaks[1000] || breaks[1000] <= 0 || breaks[1_000_000] != 0 {
		t.Errorf("planned breaks by distance: %v", breaks)
	}
}

// Which segments a horizon changes, computed from the definition: those that
// were not old as of the horizon before and are as of this one. What was
// decided before stays, so there is one break, at the first of them.
func TestHorizonChangesWhatAgedSinceTheLast(t *testing.T) {
	t.Parallel()
	const keep, distance = 2, 700
	transcript := conversation(5, 30)
	horizons := pipelinetest.Horizons(transcript, pipelinetest.Words{}, distance)
	if len(horizons) < 4 {
		t.Fatalf("horizons %v", horizons)
	}
	settings := pipelinetest.Settings(t, aged(keep))
	settings.HorizonTokens = distance
	p := pipeline.New(settings)
	shown := make([]string, len(transcript.Segments))
	for turn := range transcript.Turn + 1 {
		cut := pipelinetest.Cut(transcript, turn)
		outcomes := pipelinetest.Run(t, p, cut)
		for i, o := range outcomes {
			text := ""
			if o.Lossy != nil {
				text = strings.Fields(o.Lossy.Text)[3]
			}
			if slices.Contains(horizons, turn) && shown[i] == "" {
				if s := cut.Segments[i]; s.Turn < turn && i < len(outcomes)-keep && o.Original.N >= 50 {
					shown[i] = strconv.Itoa(len(outcomes))
				}
			}
			if text != shown[i] {
				t.Fatalf("turn %d: segment %d is old as of %q outputs, want %q", turn, i, text, shown[i])
			}
		}
	}
}

// Without a distance every turn decides anew, as the specification's own
// components do.
func TestNoDistanceDecidesEveryTurn(t *testing.T) {
	t.Parallel()
	settings := pipelinetest.Settings(t, aged(1))
	p := pipeline.New(settings)
	transcript := pipelinetest.Texts(long("a"), long("b"), long("c"), long("d"))
	for turn := 1; turn <= 4; turn++ {
		result, err := p.Run(t.Context(), pipelinetest.Cut(transcript, turn))
		if err != nil {
			t.Fatal(err)
		}
		if result.Horizon != turn {
			t.Errorf("turn %d: horizon %d", turn, result.Horizon)
		}
		for i, o := range result.Outcomes {
			want := ""
			if i < turn-1 {
				want = fmt.Sprintf("old as of %d ", turn) + pipeline.Marker(o.Lossy.ID)
			}
			if v := o.Pick(true); (v != nil || want != "") && v.Text != want {
				t.Errorf("turn %d, segment %d: %q, want %q", turn, i, v.Text, want)
			}
		}
		p.Release(result)
	}
	// A turn without outputs, because the user speaks: what was newest is seen.
	spoken := pipelinetest.Transcript([]pipelinetest.Output{{Text: long("a")}}, []pipelinetest.Output{{Text: long("b")}}, nil)
	result, err := p.Run(t.Context(), spoken)
	if err != nil || result.Horizon != 3 || result.Outcomes[0].Lossy == nil || result.Outcomes[1].Lossy != nil {
		t.Errorf("%+v, %v", result, err)
	}
}

// Nobody could read a masked output back: horizons do not exist.
func TestLosslessRequestsHaveNoHorizons(t *testing.T) {
	t.Parallel()
	transcript := conversation(3, 20)
	settings := horizonSettings(t, 300)
	lossy := pipelinetest.Run(t, pipeline.New(settings), transcript)
	settings.Lossy = false
	result, err := pipeline.New(settings).Run(t.Context(), transcript)
	if err != nil || result.Horizon != 0 {
		t.Fatalf("horizon %d, %v", result.Horizon, err)
	}
	for i, o := range result.Outcomes {
		a, b := o.Pick(true), lossy[i].Pick(false)
		if (a == nil) != (b == nil) || a != nil && (a.Text != b.Text || a.ID != "") {
			t.Errorf("segment %d: %v without markers, %v where the caller allows none", i, a, b)
		}
	}
}

func TestDistanceIsPartOfTheDigest(t *testing.T) {
	t.Parallel()
	seen := map[pipeline.Digest]int{}
	for _, distance := range []int{0, 1, 32000} {
		digest := pipeline.New(horizonSettings(t, distance)).Digest()
		if other, taken := seen[digest]; taken {
			t.Errorf("distances %d and %d have one digest", distance, other)
		}
		seen[digest] = distance
	}
}

func TestHorizonsDoNotDependOnTheMemo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		transcript := conversation(seed, 30)
		settings := horizonSettings(t, 400)
		settings.Memo = nil
		none := pipeline.New(settings)
		settings.Memo = pipeline.NewMemo(8 << 10) // a dozen outcomes
		tiny := pipeline.New(settings)
		memo := pipeline.NewMemo(0)
		settings.Memo = memo
		warm := pipeline.New(settings)
		for turn := range transcript.Turn + 1 {
			cut := pipelinetest.Cut(transcript, turn)
			want := pipelinetest.Run(t, none, cut)
			if turn%5 == 4 {
				memo.Flush()
			}
			for name, p := range map[string]*pipeline.Pipeline{"tiny": tiny, "warm": warm} {
				if diff := pipelinetest.DiffOutcomes(want, pipelinetest.Run(t, p, cut)); diff != "" {
					t.Fatalf("seed %d, turn %d, %s memo:\n%s", seed, turn, name, diff)
				}
			}
		}
	}
}

// Which outputs arrived together is part of what a horizon component sees, so
// two conversations that differ in nothing else share no decision.
func TestMemoTellsTurnsApart(t *testing.T) {
	t.Parallel()
	turns := late("turns", func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		var all []int
		for o := range v.Outputs() {
			all = append(all, o.Turn)
		}
		return pipeline.Offload(pipeline.Loss{Before: fmt.Sprint(all, s.Turn, " ")}), nil
	})
	p := pipeline.New(pipelinetest.Settings(t, turns))
	a, b, c := pipelinetest.Output{Text: long("a")}, pipelinetest.Output{Text: long("b")}, pipelinetest.Output{Text: long("c")}
	for want, transcript := range map[string]*pipeline.Transcript{
		"[1 2 3] 1 ": pipelinetest.Transcript([]pipelinetest.Output{a}, []pipelinetest.Output{b}, []pipelinetest.Output{c}),
		"[1 1 2] 1 ": pipelinetest.Transcript([]pipelinetest.Output{a, b}, []pipelinetest.Output{c}),
		"[1 2 2] 1 ": pipelinetest.Transcript([]pipelinetest.Output{a}, []pipelinetest.Output{b, c}),
		"[2 3 4] 2 ": pipelinetest.Transcript(nil, []pipelinetest.Output{a}, []pipelinetest.Output{b}, []pipelinetest.Output{c}),
	} {
		if got := pipelinetest.Run(t, p, transcript)[0].Lossy.Text; !strings.HasPrefix(got, want) {
			t.Errorf("decided as of %q, want %q", got, want)
		}
	}
}

// What a horizon decides must be smaller than what is sent already.
func TestHorizonIsNeverWorseThanFirstSight(t *testing.T) {
	t.Parallel()
	verbose := late("verbose", func(_ context.Context, _ pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Offload(pipeline.Loss{Before: s.Text[:len(s.Text)/2]}), nil
	})
	transcript := pipelinetest.Texts(long("a"), long("b"))
	both := pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, verbose, cut())), transcript)[0]
	if got := reasons(both); got != "cut acted, verbose no_win" || !strings.HasPrefix(both.Lossy.Text, "cut off ") {
		t.Errorf("%s: %q", got, both.Lossy.Text)
	}
	alone := pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, verbose)), transcript)[0]
	if got := reasons(alone); got != "verbose acted" {
		t.Error(got)
	}
}

// What a horizon component may do: no lossless edit, since that would change
// what a request without markers gets; failures, since they are old news.
func TestContractOfHorizonComponents(t *testing.T) {
	t.Parallel()
	replaces := late("replaces", func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
		return pipeline.Replace("x", trusting()), nil
	})
	panics := late("panics", func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) { panic("on purpose") })
	p := pipeline.New(pipelinetest.Settings(t, panics, replaces, short(), aged(1)))
	transcript := pipelinetest.Transcript([]pipelinetest.Output{{Text: long("a"), IsError: true}}, []pipelinetest.Output{{Text: long("b")}})
	outcomes := pipelinetest.Run(t, p, transcript)
	if got, want := reasons(outcomes[0]), "short acted, panics panic, replaces kind_contract, aged no_win"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if v := outcomes[0].Pick(true); v == nil || v.Text != "a" || string(v.Value) != `"a"` {
		t.Errorf("sent %+v", v)
	}
	failed := pipelinetest.Run(t, pipeline.New(pipelinetest.Settings(t, aged(1))), transcript)[0]
	if got := reasons(failed); got != "aged acted" {
		t.Error(got)
	}
}

// A view at a horizon shows the client's texts up to the horizon, however the
// runner came to ask.
func TestViewOfAHorizon(t *testing.T) {
	t.Parallel()
	var builds, calls atomic.Int64
	type key struct{ n int }
	looks := late("looks", func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
		calls.Add(1)
		sum := pipeline.Once(v, key{1}, func() string {
			builds.Add(1)
			var b strings.Builder
			for _, o := range outputs(v) {
				text, ok := v.Text(o)
				fmt.Fprintf(&b, "%d%s%v%v%d", o.Turn, o.Args, text[:1], ok, o.Tokens)
			}
			return b.String()
		})
		if other := pipeline.Once(v, key{2}, func() int { return 2 }); other != 2 {
			return pipeline.Decline("mixed_up"), nil
		}
		at := "-"
		if earlier, found := v.Earlier(s); found {
			at = strconv.Itoa(earlier.Index)
		}
		_, beyond := v.Text(pipeline.Segment{Index: 4})
		return pipeline.Offload(pipeline.Loss{Before: fmt.Sprint(sum, at, beyond, " ")}), nil
	})
	settings := pipelinetest.Settings(t, squeeze(), looks)
	settings.HorizonTokens = 750
	memo := settings.Memo
	p := pipeline.New(settings)
	o := func(word string) pipelinetest.Output {
		return pipelinetest.Output{Text: long(word), Args: `"{\"n\": 1}"`}
	}
	transcript := pipelinetest.Transcript([]pipelinetest.Output{o("a"), o("a"), o("b")}, []pipelinetest.Output{o("c")}, []pipelinetest.Output{o("a")})
	for _, state := range []string{"cold", "warm", "flushed"} {
		if state == "flushed" {
			memo.Flush()
		}
		outcomes := pipelinetest.Run(t, p, transcript)
		for i, at := range []string{"-", "0", "-"} {
			want := `1{"n": 1}atrue2001{"n": 1}atrue2001{"n": 1}btrue2002{"n": 1}ctrue200` + at + "false "
			if got := outcomes[i].Lossy.Text; !strings.HasPrefix(got, want) {
				t.Errorf("%s memo: segment %d sees %q, want %q", state, i, got, want)
			}
		}
	}
	if builds.Load() != 2 || calls.Load() != 6 {
		t.Errorf("built %d times for %d calls, want 2 and 6", builds.Load(), calls.Load())
	}
	if got := pipeline.Once(pipeline.View{}, key{1}, func() int { return 7 }); got != 7 {
		t.Errorf("an empty view remembers %d", got)
	}
}

// What is decided at one of the first horizons behind a segment stays. After
// them a segment goes with the last.
func TestDecisionsSettle(t *testing.T) {
	t.Parallel()
	for until, want := range map[int]string{
		2:  "as of 2", // the first horizon behind it
		3:  "as of 3",
		5:  "as of 5",
		6:  "as of 9", // beyond the first four, each horizon decides anew
		9:  "as of 9",
		10: "",
	} {
		patient := late("patient", func(_ context.Context, v pipeline.View, s pipeline.Segment) (pipeline.Edit, error) {
			if n := len(outputs(v)); s.Index == 0 && n >= until {
				return pipeline.Offload(pipeline.Loss{Before: fmt.Sprintf("as of %d ", n)}), nil
			}
			return pipeline.Decline("waits"), nil
		})
		settings := pipelinetest.Settings(t, patient)
		settings.HorizonTokens = 200
		p := pipeline.New(settings)
		var texts []string
		for i := range 9 {
			texts = append(texts, long(fmt.Sprint("w", i)))
			v := pipelinetest.Run(t, p, pipelinetest.Texts(texts...))[0].Lossy
			if (v != nil) != (i+1 >= until) {
				t.Errorf("until %d: at turn %d: %v", until, i+1, v)
			}
		}
		got := ""
		if v := pipelinetest.Run(t, p, pipelinetest.Texts(texts...))[0].Lossy; v != nil {
			got = v.Text[:7]
		}
		if got != want {
			t.Errorf("until %d: %q, want %q", until, got, want)
		}
	}
}

// Behind a marker of ours nobody knows how large the conversation was.
func TestRewrittenTurnsEndTheHorizons(t *testing.T) {
	t.Parallel()
	settings := pipelinetest.Settings(t, aged(1))
	settings.HorizonTokens = 350
	marked := "see " + pipeline.Marker(settings.Markers.Mint("x"))
	for name, c := range map[string]struct {
		fourth string
		want   int
	}{"plain": {"see nothing", 6}, "marked": {marked, 2}, "forged": {"see <<cg:abcdefghijklmnop2345>>", 6}} {
		result, err := pipeline.New(settings).Run(t.Context(),
			pipelinetest.Texts(long("a"), long("b"), "c", c.fourth, long("d"), long("e")))
		if err != nil || result.Horizon != c.want {
			t.Errorf("%s: horizon %d, want %d (%v)", name, result.Horizon, c.want, err)
		}
	}
}

func TestCancelledAtAHorizon(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stops := late("stops", func(context.Context, pipeline.View, pipeline.Segment) (pipeline.Edit, error) {
		cancel()
		return pipeline.Offload(pipeline.Loss{Before: "x "}), nil
	})
	settings := pipelinetest.Settings(t, stops)
	if _, err := pipeline.New(settings).Run(ctx, pipelinetest.Texts(long("a"), long("b"), long("c"))); err == nil {
		t.Error("a cancelled run has a result")
	}
	if s := settings.Memo.Stats(); s.Entries != 3 {
		t.Errorf("%d decisions are remembered, want those of first sight", s.Entries)
	}
}

func TestMemoisedHorizonAllocatesNothingPerSegment(t *testing.T) {
	allocations := func(distance, segments int) float64 {
		texts := make([]string, segments)
		for i := range texts {
			texts[i] = long(fmt.Sprint("word", i))
		}
		settings := pipelinetest.Settings(t, squeeze(), aged(3))
		settings.HorizonTokens = distance
		p := pipeline.New(settings)
		transcript := pipelinetest.Texts(texts...)
		return testing.AllocsPerRun(20, func() {
			result, err := p.Run(t.Context(), transcript)
			if err != nil || result.Outcomes[0].Lossy == nil {
				t.Fatal(err)
			}
			p.Release(result)
		})
	}
	for _, distance := range []int{0, 1000} {
		few, many := allocations(distance, 20), allocations(distance, 1000)
		// A garbage collection, and the race detector on purpose, may empty the pool of scratch space.
		if many > few+50 {
			t.Errorf("distance %d: %v allocations for 20 segments, %v for 1000", distance, few, many)
		}
	}
}
