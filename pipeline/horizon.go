package pipeline

import (
	"context"
	"iter"
)

// DefaultHorizonTokens is how many tokens of tool output lie between two
// horizons. On recorded conversations, masking every turn made those of 10 to 15
// turns 22 to 52 % dearer, because every change of an old output bills the whole
// prefix behind it again; with this distance none became dearer.
const DefaultHorizonTokens = 32000

// settling is at how many horizons behind its turn a segment gets its chance to
// be decided for good. What was decided there stays as it is at later horizons:
// to word it better then would save a handful of tokens and bill everything
// behind it again. A segment that nothing was decided about by then is looked
// at as of the last horizon only, which bounds the work for long transcripts.
const settling = 4

// When says at which sight of a segment a component decides.
type When uint8

const (
	// FirstSight components decide when a segment is new, for good.
	FirstSight When = iota
	// AtHorizon components decide about old segments, as of a horizon. Between
	// two horizons nothing of what they decided moves. They may only Offload,
	// and are asked about failed results, too.
	AtHorizon
)

// horizon is a turn as of which old segments are decided about.
type horizon struct {
	turn int
	end  int // of the segments up to the end of the turn
}

// The tokens of tool output up to the end of a turn, counted on the client's
// originals, put the turn into a stretch of HorizonTokens each; the first turn
// that ends in a new stretch is a horizon. Only tool outputs count: everything
// else in a request changes its form on the way through a client (cache marks
// move, strings become blocks), and a horizon that moved would be an unplanned
// break.

// findHorizons lists the horizons, oldest first. With no distance every turn
// is one, and only the newest counts: nothing settles.
//
// A turn with a marker of ours was rewritten before. The sizes of its originals
// are not known here, and neither is what became of them later, so there are no
// horizons from there on: rewriting a rewritten request changes nothing.
func (r *run) findHorizons(distance int) {
	segments := r.t.Segments
	r.late = r.late[:0]
	if distance <= 0 {
		if len(segments) > 0 {
			r.late = append(r.late, horizon{turn: r.t.Turn, end: len(segments)})
		}
		return
	}
	sum := 0
	for i := 0; i < len(segments); {
		before := sum / distance
		at := segments[i].Turn
		for ; i < len(segments) && segments[i].Turn == at; i++ {
			o := r.first[i]
			if o.Reason == ReasonMarked {
				return
			}
			sum += o.Original.N
		}
		if sum/distance > before {
			r.late = append(r.late, horizon{turn: at, end: i})
		}
	}
}

// overlay lets the horizon components decide about the segments in front of
// the last horizon. The horizon's own outputs were unseen when it came, so they
// are left alone until the next one.
func (p *Pipeline) overlay(ctx context.Context, r *run) error {
	r.first = append(r.first, r.result.Outcomes...)
	r.findHorizons(p.s.HorizonTokens)
	if len(r.late) == 0 {
		return nil
	}
	last := r.late[len(r.late)-1]
	r.result.Horizon = last.turn
	next := 0 // first horizon behind the segment's turn
	for i := 0; i < last.end && r.t.Segments[i].Turn < last.turn; i++ {
		for r.late[next].turn <= r.t.Segments[i].Turn {
			next++
		}
		o := p.remembered(r, i, last)
		if o == nil {
			key := r.key
			var err error
			if o, err = p.settle(ctx, r, i, r.late[next:]); err != nil {
				return err
			}
			p.s.Memo.put(&key, o)
			r.result.Fresh++
		}
		r.result.Outcomes[i] = o
	}
	return nil
}

// remembered returns what was decided about a segment as of a horizon, or nil,
// and leaves the key in r.
func (p *Pipeline) remembered(r *run, index int, h horizon) *Outcome {
	r.key = memoKey{pipeline: p.digest, segment: r.segments[index], view: r.views[h.end-1], index: index, horizon: true}
	return p.s.Memo.get(&r.key)
}

// settle decides about one old segment as of the last of the given horizons,
// all of which lie behind its turn. The first that acts settles it.
func (p *Pipeline) settle(ctx context.Context, r *run, index int, horizons []horizon) (*Outcome, error) {
	earlier, last := horizons[:len(horizons)-1], horizons[len(horizons)-1]
	for _, h := range earlier[:min(settling, len(earlier))] {
		o := p.remembered(r, index, h)
		if o == nil {
			key := r.key
			var err error
			if o, err = p.reconsider(ctx, r, index, h); err != nil {
				return nil, err
			}
			p.s.Memo.put(&key, o)
		}
		if o.late {
			return o, nil
		}
	}
	return p.reconsider(ctx, r, index, last)
}

// reconsider runs the horizon components on one old segment. What they look at
// is the client's text, and what they decide replaces what was decided at first
// sight; when all of them decline, that stays.
func (p *Pipeline) reconsider(ctx context.Context, r *run, index int, h horizon) (*Outcome, error) {
	first := r.first[index]
	text, ok := r.t.Original(index)
	if !ok || first.Reason != "" {
		return first, ctx.Err()
	}
	r.text, r.sum = text, first.original
	o := *first
	o.Acts = append([]Act(nil), first.Acts...)
	s := r.t.Segments[index]
	s.Text, s.Tokens, s.Args = text, first.Original.N, r.t.arguments(&s)
	c := chain{p: p, original: text, segment: s, rule: p.s.Tools.judge(s.Tool), tokens: first.Tokens(true), price: first.price, outcome: &o}
	o.Lossy = nil
	for i := range p.s.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if step := &p.s.Steps[i]; step.When == AtHorizon && step.Request == nil {
			if err := c.ask(ctx, i, View{run: r, end: h.end}); err != nil {
				return nil, err
			}
		}
	}
	if o.Lossy == nil {
		o.Lossy = first.Lossy
		return &o, nil // and with it the edits
	}
	o.late, o.price = true, c.price
	o.Edits = edits(o.Acts)
	o.Lossy.Value = r.t.Encode(r.t.Value(&s), o.Lossy.Text)
	return &o, nil
}

// Outputs yields the segments the view shows, oldest first: those up to the
// end of the horizon for a horizon component, none for others. Tokens holds
// the client's originals; Text is empty, and View.Text reads it.
func (v View) Outputs() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		if v.run == nil {
			return
		}
		for i := range v.end {
			s := v.run.t.Segments[i]
			s.Tokens, s.Args = v.run.result.Outcomes[i].Original.N, v.run.t.arguments(&s)
			if !yield(s) {
				return
			}
		}
	}
}

// Text returns the client's text of an output that Outputs yielded, and false
// when it has no exact text.
func (v View) Text(s Segment) (string, bool) {
	if v.run == nil || s.Index >= v.end {
		return "", false
	}
	return v.run.t.Original(s.Index)
}

// onceKey names what was made of a view.
type onceKey struct {
	end int
	key any
}

// Once returns what build makes of the view of a horizon component. All
// segments decided as of one horizon get the same value, so what takes a walk
// over the transcript takes it one time. build must be a pure function of the
// view and the key; the key must be comparable and tells components and their
// settings apart, as a component that is a struct of its settings does.
func Once[T any](v View, key any, build func() T) T {
	if v.run == nil || v.end == 0 {
		return build()
	}
	k := onceKey{v.end, key}
	if made, ok := v.run.once[k].(T); ok {
		return made
	}
	made := build()
	v.run.once[k] = made
	return made
}
