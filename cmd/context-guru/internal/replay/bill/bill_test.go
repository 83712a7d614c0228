package bill_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
)

// units reads units written as name:tokens.
func units(t *testing.T, list string) []prompt.Unit {
	t.Helper()
	var out []prompt.Unit
	for word := range strings.FieldsSeq(list) {
		name, size, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, prompt.Unit{Digest: sha256.Sum256([]byte(name)), Tokens: n})
	}
	return out
}

// step is a request on both sides, and what has to come of it.
type step struct {
	client, rewritten string // the same if empty
	before, after     bill.Prompt
	broken            bool
	anthropic, openai [2]float64 // before and after, computed by hand
	note              string
}

func anthropic() bill.Price { return bill.Price{Name: "a", Input: 3e-6, Read: 0.1, Write: 1.25} }
func openai() bill.Price    { return bill.Price{Name: "o", Read: 0.5, Write: 1} }

func TestConversationsComputedByHand(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]step{
		"nothing changes": {
			{client: "tools:800 system:400 q:100", before: bill.Prompt{Written: 1300}, after: bill.Prompt{Written: 1300}, anthropic: [2]float64{1625, 1625}, openai: [2]float64{1300, 1300}},
			{client: "tools:800 system:400 q:100 a:50 r:1000", before: bill.Prompt{Read: 1300, Written: 1050}, after: bill.Prompt{Read: 1300, Written: 1050}, anthropic: [2]float64{130 + 1312.5, 130 + 1312.5}, openai: [2]float64{650 + 1050, 650 + 1050}},
		},
		"smaller from the first on": {
			{client: "tools:800 system:400 q:100", before: bill.Prompt{Written: 1300}, after: bill.Prompt{Written: 1300}, anthropic: [2]float64{1625, 1625}, openai: [2]float64{1300, 1300}},
			{client: "tools:800 system:400 q:100 a:50 r:1000", rewritten: "tools:800 system:400 q:100 a:50 s:200", before: bill.Prompt{Read: 1300, Written: 1050}, after: bill.Prompt{Read: 1300, Written: 250}, anthropic: [2]float64{1442.5, 130 + 312.5}, openai: [2]float64{1700, 650 + 250}},
			{client: "tools:800 system:400 q:100 a:50 r:1000 b:10", rewritten: "tools:800 system:400 q:100 a:50 s:200 b:10", before: bill.Prompt{Read: 2350, Written: 10}, after: bill.Prompt{Read: 1550, Written: 10}, anthropic: [2]float64{235 + 12.5, 155 + 12.5}, openai: [2]float64{1185, 785}},
		},
		"a break bills the rest again": {
			{client: "tools:800 system:400 r:1000 q:500", before: bill.Prompt{Written: 2700}, after: bill.Prompt{Written: 2700}, anthropic: [2]float64{3375, 3375}, openai: [2]float64{2700, 2700}},
			{client: "tools:800 system:400 r:1000 q:500 b:10", rewritten: "tools:800 system:400 s:200 q:500 b:10", before: bill.Prompt{Read: 2700, Written: 10}, after: bill.Prompt{Read: 1200, Written: 710}, broken: true, anthropic: [2]float64{270 + 12.5, 120 + 887.5}, openai: [2]float64{1360, 600 + 710}},
			{client: "tools:800 system:400 r:1000 q:500 b:10 c:10", rewritten: "tools:800 system:400 s:200 q:500 b:10 c:10", before: bill.Prompt{Read: 2710, Written: 10}, after: bill.Prompt{Read: 1910, Written: 10}, anthropic: [2]float64{271 + 12.5, 191 + 12.5}, openai: [2]float64{1365, 965}},
		},
		"below the least that is cached": {
			{client: "tools:10 system:10 q:1003", before: bill.Prompt{Written: 1023}, after: bill.Prompt{Written: 1023}, anthropic: [2]float64{1023, 1023}, openai: [2]float64{1023, 1023}},
			{client: "tools:10 system:10 q:1003 a:1", before: bill.Prompt{Written: 1024}, after: bill.Prompt{Written: 1024}, anthropic: [2]float64{1280, 1280}, openai: [2]float64{1024, 1024}},
			{client: "tools:10 system:10 q:1003 a:1 b:6", rewritten: "tools:10 system:10 q:1003 a:0 b:6", before: bill.Prompt{Read: 1024, Written: 6}, after: bill.Prompt{Written: 1029}, anthropic: [2]float64{102.4 + 7.5, 1286.25}, openai: [2]float64{518, 1029}, note: "too small to be read"},
		},
		"what was sent before the last request": {
			{client: "tools:800 system:400 q:100", before: bill.Prompt{Written: 1300}, after: bill.Prompt{Written: 1300}, anthropic: [2]float64{1625, 1625}, openai: [2]float64{1300, 1300}},
			{client: "title:20 q:100", before: bill.Prompt{Written: 120}, after: bill.Prompt{Written: 120}, anthropic: [2]float64{120, 120}, openai: [2]float64{120, 120}},
			{client: "tools:800 system:400 q:100 a:100", before: bill.Prompt{Read: 1300, Written: 100}, after: bill.Prompt{Read: 1300, Written: 100}, anthropic: [2]float64{255, 255}, openai: [2]float64{750, 750}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := bill.NewLedger(bill.LedgerOptions{})
			for i, s := range steps {
				if s.rewritten == "" {
					s.rewritten = s.client
				}
				e := ledger.Add("", time.Time{}, units(t, s.client), units(t, s.rewritten))
				if e.Before != s.before || e.After != s.after || e.Broken() != s.broken {
					t.Errorf("request %d: %+v, want %+v %+v broken %v; %s", i+1, e, s.before, s.after, s.broken, s.note)
				}
				for price, want := range map[bill.Price][2]float64{anthropic(): s.anthropic, openai(): s.openai} {
					if a := e.Charge(price, 0); !near(a.Before, want[0]) || !near(a.After, want[1]) || !near(a.USDAfter, want[1]*price.Input) {
						t.Errorf("request %d as %s: %+v, want %v", i+1, price.Name, a, want)
					}
				}
			}
		})
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestToolIsPartOfTheBill(t *testing.T) {
	t.Parallel()
	ledger := bill.NewLedger(bill.LedgerOptions{})
	var sum bill.Amount
	with := units(t, "tools:860 system:400 q:100")
	e := ledger.Add("", time.Time{}, units(t, "tools:800 system:400 q:100"), with)
	sum.Add(e.Charge(anthropic(), 60))
	if want := 60 * 1.25; !near(sum.Tool, want) || !near(sum.After-sum.Before, want) || !sum.Dearer() || sum.BeyondTool() {
		t.Errorf("written: %+v", sum)
	}
	e = ledger.Add("", time.Time{}, units(t, "tools:800 system:400 q:100 a:10"), append(with, units(t, "a:10")...))
	sum.Add(e.Charge(anthropic(), 60))
	if want := 60*1.25 + 60*0.1; !near(sum.Tool, want) || !near(sum.After-sum.Before, want) || sum.BeyondTool() {
		t.Errorf("read: %+v", sum)
	}
	sum.Add(bill.Amount{Before: 1, After: 1.5})
	if !sum.BeyondTool() {
		t.Error("half a token more is not noticed")
	}
}

func TestScopesShareNothing(t *testing.T) {
	t.Parallel()
	ledger := bill.NewLedger(bill.LedgerOptions{})
	list := units(t, "tools:2000 q:10")
	ledger.Add("one", time.Time{}, list, list)
	if e := ledger.Add("two", time.Time{}, list, list); e.Before.Read != 0 || e.Shared != 0 {
		t.Errorf("another's prompt is read: %+v", e)
	}
	if e := ledger.Add("one", time.Time{}, list, list); e.Before.Read != 2010 {
		t.Errorf("the same prompt is not read: %+v", e)
	}
}

func TestPromptsGetOld(t *testing.T) {
	t.Parallel()
	ledger := bill.NewLedger(bill.LedgerOptions{Lifetime: time.Minute})
	list := units(t, "tools:2000 q:10")
	for _, c := range []struct {
		seconds int
		read    int
	}{{0, 0}, {60, 2010}, {120, 2010}, {181, 0}} {
		at := time.Unix(int64(c.seconds), 0)
		if e := ledger.Add("", at, list, list); e.Before.Read != c.read || e.After.Read != c.read {
			t.Errorf("after %d s: %+v, want %d read", c.seconds, e, c.read)
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	ledger := bill.NewLedger(bill.LedgerOptions{Units: 100})
	first := units(t, "tools:2000 q:10")
	ledger.Add("", time.Time{}, first, first)
	for i := range 300 {
		list := units(t, fmt.Sprintf("t%d:2000 q:10", i))
		ledger.Add("", time.Time{}, list, list)
	}
	if e := ledger.Add("", time.Time{}, first, first); e.Before.Read != 0 {
		t.Errorf("remembered for ever: %+v", e)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	e := bill.Entry{After: bill.Prompt{Read: 2000, Written: 100}, Kept: 3}
	for unit, want := range map[int]float64{0: 0.1, 2: 0.1, 3: 1.25} {
		if got := e.Ratio(anthropic(), unit); !near(got, want) {
			t.Errorf("unit %d: %v, want %v", unit, got, want)
		}
	}
	small := bill.Entry{After: bill.Prompt{Written: 100}}
	if got := small.Ratio(anthropic(), 0); !near(got, 1) {
		t.Errorf("too small to be cached: %v", got)
	}
}
