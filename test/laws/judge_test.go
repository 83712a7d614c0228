package laws_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// conversation is the requests of one conversation, one per turn.
type conversation struct {
	name     string
	dialect  wire.Dialect
	model    string
	requests [][]byte
}

// trial is one conversation before the laws.
type trial struct {
	s        *subject
	lossless *subject // the same without markers
	c        conversation
	rnd      *rand.Rand
	counts   map[string]int
	found    []finding
	turns    []int // the turns that are looked at
	sent     [][]byte
	last     seen            // of the turn before
	planned  int             // turns whose prefix a horizon broke
	horizons []int           // the last one, of each turn
	report   *rewrite.Report // of the last turn
	edits    []edit          // of the last turn
}

// The tenants of the trials; the last one never sends anything.
const (
	tenant   = "team-a"
	neighbor = "team-b"
	stranger = "team-c"
)

// mostTurns is how many turns of a long conversation are looked at: the first,
// the last, and some in between.
const mostTurns = 8

// try holds a subject to every law on one conversation, with and without
// markers.
func try(tb testing.TB, p parts, c conversation, seed uint64) *trial {
	tb.Helper()
	s := newSubject(tb, p)
	defer func() { _ = s.close() }()
	p.lossless = true
	lossless := newSubject(tb, p)
	defer func() { _ = lossless.close() }()
	t := judge(s, lossless, c, seed)
	if slices.IsSortedFunc(p.steps, func(a, b pipeline.Step) int { return cmp.Compare(b.Kind, a.Kind) }) {
		t.withoutTenant()
	}
	return t
}

func judge(s, lossless *subject, c conversation, seed uint64) *trial {
	t := &trial{s: s, lossless: lossless, c: c, rnd: rand.New(rand.NewPCG(seed, 7)), counts: map[string]int{}}
	t.turns = spread(len(c.requests))
	t.walk()
	t.memos()
	t.forked()
	t.tenants()
	t.again()
	t.rekeyed()
	t.withoutMarkers()
	return t
}

// spread picks mostTurns of n turns.
func spread(n int) (turns []int) {
	for i := range min(n, mostTurns) {
		turns = append(turns, i*(n-1)/max(1, min(n, mostTurns)-1))
	}
	return turns
}

func (t *trial) add(law string, turn int, err error) {
	if err != nil {
		t.found = append(t.found, finding{law, fmt.Errorf("turn %d of %d: %w", turn+1, len(t.c.requests), err)})
	}
}

func (t *trial) request(turn int) request {
	return request{t.c.dialect, t.c.requests[turn], tenant}
}

func (t *trial) count(text string) int {
	n, ok := t.counts[text]
	if !ok {
		n = t.s.count(t.c.model, text)
		t.counts[text] = n
	}
	return n
}

// walk sends the conversation turn by turn, each to one of two replicas, and
// holds what comes out to the laws about one request and about two.
func (t *trial) walk() {
	replicas := []*replica{t.s.start(usualMemo), t.s.start(usualMemo)}
	for i, turn := range t.turns {
		one := t.rnd.IntN(2)
		q := t.request(turn)
		body := bytes.Clone(q.body)
		sent, report := replicas[one].rewrite(q)
		if !bytes.Equal(body, q.body) {
			t.add(lawOutside, turn, errors.New("the client's own bytes were written to"))
		}
		t.sent, t.report = append(t.sent, sent), report
		t.one(turn, sent, report)
		now := t.see(turn, sent, t.edits, report)
		t.horizons = append(t.horizons, now.horizon)
		other, _ := replicas[1-one].rewrite(q)
		t.same(turn, sent, other, "another replica")
		if i > 0 {
			t.prefix(t.last, now)
		}
		t.last = now
	}
	last := len(t.turns) - 1
	replicas[0].forget()
	flushed, _ := replicas[0].rewrite(t.request(t.turns[last]))
	t.same(t.turns[last], t.sent[last], flushed, "a flushed memo")
}

// one holds one request to the laws about it alone.
func (t *trial) one(turn int, sent []byte, report *rewrite.Report) {
	if report.Verdict == rewrite.PassThrough {
		t.add(lawRead, turn, fmt.Errorf("passed through: %s", report.Reason))
	}
	if report.Lossless != "" {
		t.add(lawRead, turn, fmt.Errorf("lossless only: %s (%w)", report.Lossless, report.StoreError))
	}
	if !json.Valid(sent) {
		t.add(lawJSON, turn, errors.New("not JSON"))
		return
	}
	t.edits = t.compare(turn, sent, report, func(id string) (string, error) { return t.s.original(tenant, id) })
	t.add(lawCounts, turn, t.figures(turn, sent, report, t.edits))
}

// compare finds the edits of a request and holds each to the laws.
func (t *trial) compare(turn int, sent []byte, report *rewrite.Report, original func(id string) (string, error)) []edit {
	where, err := places(t.c.requests[turn])
	t.add(lawOutside, turn, err)
	edits, err := compare(t.c.requests[turn], sent, where)
	t.add(lawOutside, turn, err)
	attribute(edits, report)
	for _, f := range judgeEdits(edits, where, t.s.claims, original, t.count) {
		t.add(f.law, turn, f.err)
	}
	return edits
}

// attribute says by whom the edits are, going by the report. Both are in the
// order of the body; an edit the report does not know has no author.
func attribute(edits []edit, report *rewrite.Report) {
	told := report.Explained
	for i := range edits {
		at := slices.IndexFunc(told, func(x rewrite.Explanation) bool { return x.Text == edits[i].sent })
		if at < 0 {
			continue
		}
		for _, act := range told[at].Outcome.Acts {
			if act.Acted && (!act.Lossy || len(edits[i].ids) > 0) {
				j, _ := find(act.Component)
				edits[i].by, edits[i].plainly = act.Component, edits[i].plainly || j.plainly
			}
		}
		told = told[at+1:]
	}
}

// figures checks the report against what was sent.
func (t *trial) figures(turn int, sent []byte, r *rewrite.Report, edits []edit) error {
	markers, saved, summed := 0, 0, 0
	for _, e := range r.Edits {
		summed += e.TokensBefore - e.TokensAfter
	}
	for i := range edits {
		markers += len(edits[i].ids)
		saved += t.count(edits[i].client) - t.count(edits[i].sent)
	}
	switch {
	case r.BytesBefore != len(t.c.requests[turn]) || r.BytesAfter != len(sent):
		return fmt.Errorf("%d to %d bytes reported, %d to %d sent", r.BytesBefore, r.BytesAfter, len(t.c.requests[turn]), len(sent))
	case r.Markers != markers:
		return fmt.Errorf("%d markers reported, %d sent", r.Markers, markers)
	case r.TokensBefore-r.TokensAfter != saved:
		return fmt.Errorf("%d tokens reported as saved, %d counted", r.TokensBefore-r.TokensAfter, saved)
	case summed != saved:
		return fmt.Errorf("the components are said to have saved %d tokens, and the request %d", summed, saved)
	case (r.Verdict == rewrite.Unchanged) != bytes.Equal(t.c.requests[turn], sent):
		return fmt.Errorf("reported as %s", r.Verdict)
	}
	return nil
}

func (t *trial) same(turn int, want, got []byte, what string) {
	if !bytes.Equal(want, got) {
		t.add(lawSame, turn, fmt.Errorf("%s gives other bytes: %s", what, parting(want, got)))
	}
}

// memos sends the turns to replicas that know nothing, that forget at once, and
// that are asked for everything at the same time.
func (t *trial) memos() {
	forgetful, busy := t.s.start(tinyMemo), t.s.start(usualMemo)
	together := make([][]byte, len(t.turns))
	var group sync.WaitGroup
	for _, i := range t.rnd.Perm(len(t.turns)) {
		group.Go(func() { together[i], _ = busy.rewrite(t.request(t.turns[i])) })
	}
	for _, i := range t.rnd.Perm(len(t.turns)) {
		turn := t.turns[i]
		sent, _ := forgetful.rewrite(t.request(turn))
		t.same(turn, t.sent[i], sent, "a tiny memo")
	}
	group.Wait()
	for i, turn := range t.turns {
		t.same(turn, t.sent[i], together[i], "a replica asked for all turns at once")
	}
	i := t.rnd.IntN(len(t.turns))
	sent, _ := t.s.start(usualMemo).rewrite(t.request(t.turns[i]))
	t.same(t.turns[i], t.sent[i], sent, "a restarted replica")
}

// forked sends the last turn with another first output, as after an edit of the
// history, to a replica that saw the turn as it was and to one that did not.
func (t *trial) forked() {
	turn := t.turns[len(t.turns)-1]
	q := t.request(turn)
	where, err := places(q.body)
	t.add(lawOutside, turn, err)
	for path, p := range where {
		if p.order != 0 {
			continue
		}
		warm := t.s.start(usualMemo)
		_, _ = warm.rewrite(q)
		if q.body, err = replaceAt(q.body, path, `"something else"`); err != nil {
			t.add(lawOutside, turn, err)
			return
		}
		want, _ := t.s.start(usualMemo).rewrite(q)
		sent, _ := warm.rewrite(q)
		t.same(turn, want, sent, "a replica that knows another branch of the conversation")
	}
}

// tenants sends the last turn for another tenant.
func (t *trial) tenants() {
	last := len(t.turns) - 1
	turn := t.turns[last]
	q := t.request(turn)
	q.tenant = neighbor
	sent, _ := t.s.start(usualMemo).rewrite(q)
	if !bytes.Equal(sent, t.sent[last]) {
		t.add(lawTenants, turn, errors.New(parting(t.sent[last], sent)))
	}
	for i := range t.edits {
		for _, id := range t.edits[i].ids {
			text, err := t.s.original(neighbor, id)
			if err == nil && text != t.edits[i].client {
				err = errors.New("not the text it sent")
			}
			if err != nil {
				t.add(lawRestore, turn, fmt.Errorf("for another tenant %s: %w", id, err))
			}
			if _, err := t.s.original(stranger, id); !errors.Is(err, store.ErrNotFound) {
				t.add(lawPrivate, turn, fmt.Errorf("a tenant that never sent %s can ask for it (%w)", id, err))
			}
		}
	}
}

// rekeyed sends the last turn to an installation with another service key,
// which names originals otherwise and decides alike.
func (t *trial) rekeyed() {
	turn := t.turns[len(t.turns)-1]
	sent, _ := t.s.rekeyed().rewrite(t.request(turn))
	edits, err := compare(t.c.requests[turn], sent, nil)
	t.add(lawOutside, turn, err)
	if len(edits) != len(t.edits) {
		t.add(lawKeys, turn, fmt.Errorf("%d edits with one key, %d with another", len(t.edits), len(edits)))
		return
	}
	for i := range edits {
		named := func(e edit) string { return e.path + markerForm.ReplaceAllString(e.sent, "<<cg:ID>>") }
		if a, b := named(t.edits[i]), named(edits[i]); a != b {
			t.add(lawKeys, turn, errors.New(parting(a, b)))
		}
	}
}

// again sends what came out once more.
func (t *trial) again() {
	r := t.s.start(usualMemo)
	for _, i := range slices.Compact([]int{0, len(t.turns) / 2, len(t.turns) - 1}) {
		q := t.request(t.turns[i])
		q.body = t.sent[i]
		if twice, report := r.rewrite(q); !bytes.Equal(twice, t.sent[i]) && !t.horizonMoved(i, q.body, twice, report) {
			t.add(lawAgain, t.turns[i], errors.New(parting(t.sent[i], twice)))
		}
	}
}

// withoutTenant sends the last turn without a tenant, which has to give what a
// product without markers gives. It does not where a component that loses
// nothing stands behind one that does: it never sees what the latter cut.
func (t *trial) withoutTenant() {
	turn := t.turns[len(t.turns)-1]
	q := t.request(turn)
	want, _ := t.lossless.start(usualMemo).rewrite(q)
	q.tenant = ""
	sent, report := t.s.start(usualMemo).rewrite(q)
	if report.Lossless != rewrite.LosslessNoTenant {
		t.add(lawRead, turn, fmt.Errorf("without a tenant, lossless only for the reason %q", report.Lossless))
	}
	t.same(turn, want, sent, "a request without a tenant")
}

// withoutMarkers holds the subject that may leave no marker to the same laws.
func (t *trial) withoutMarkers() {
	r := t.lossless.start(usualMemo)
	var before seen
	for i, turn := range t.turns {
		q := t.request(turn)
		sent, report := r.rewrite(q)
		if report.Lossless != rewrite.LosslessNoResolver || report.Markers > 0 {
			t.add(lawCounts, turn, fmt.Errorf("without a resolver %d markers were reported, and %q", report.Markers, report.Lossless))
		}
		edits := t.compare(turn, sent, report, func(id string) (string, error) { return "", fmt.Errorf("nobody can resolve marker %s", id) })
		now := t.see(turn, sent, edits, report)
		if i > 0 {
			t.prefix(before, now)
		}
		before = now
	}
	q := t.request(t.turns[len(t.turns)-1])
	q.body = before.sent
	if twice, _ := r.rewrite(q); !bytes.Equal(twice, before.sent) {
		t.add(lawAgain, t.turns[len(t.turns)-1], errors.New("without markers: "+parting(before.sent, twice)))
	}
}
