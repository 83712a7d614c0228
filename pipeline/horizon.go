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

// When says at which sight of a segment a component decides.
type When uint8

const (
	// FirstSight components decide when a segment is new, for good.
	FirstSight When = iota
	// AtHorizon components decide about old segments, anew at every horizon and
	// as of it. Between two horizons nothing of what they decided moves.
	AtHorizon
)

// The tokens of tool output up to the end of a turn, counted on the client's
// originals, put the turn into a stretch of HorizonTokens each; the first turn
// that ends in a new stretch is a horizon. Only tool outputs count: everything
// else in a request changes its form on the way through a client (cache marks
// move, strings become blocks), and a horizon that moved would be an unplanned
// break.

// lastHorizon returns the newest turn that is a horizon, and false when there
// is none yet. With no distance every turn is one.
func (r *run) lastHorizon(distance int) (turn int, ok bool) {
	segments := r.t.Segments
	if distance <= 0 {
		return r.t.Turn, len(segments) > 0
	}
	sum := 0
	for i := 0; i < len(segments); {
		before := sum / distance
		at := segments[i].Turn
		for ; i < len(segments) && segments[i].Turn == at; i++ {
			sum += r.result.Outcomes[i].Original.N
		}
		if sum/distance > before {
			turn, ok = at, true
		}
	}
	return turn, ok
}

// overlay lets the horizon components decide about the segments in front of
// the last horizon. The horizon's own outputs were unseen when it came, so they
// are left alone until the next one.
func (p *Pipeline) overlay(ctx context.Context, r *run) error {
	turn, ok := r.lastHorizon(p.s.HorizonTokens)
	if !ok {
		return nil
	}
	end := len(r.t.Segments)
	for end > 0 && r.t.Segments[end-1].Turn > turn {
		end--
	}
	if end == 0 {
		return nil
	}
	r.result.Horizon = turn
	view := View{run: r, end: end}
	for i := 0; i < end && r.t.Segments[i].Turn < turn; i++ {
		r.key = memoKey{pipeline: p.digest, segment: r.segments[i], view: r.views[end-1], index: i, horizon: true}
		o := p.s.Memo.get(&r.key)
		if o == nil {
			key := r.key
			var err error
			if o, err = p.reconsider(ctx, r, i, view); err != nil {
				return err
			}
			p.s.Memo.put(&key, o)
			r.result.Fresh++
		}
		r.result.Outcomes[i] = o
	}
	return nil
}

// reconsider runs the horizon components on one old segment. What they look at
// is the client's text, and what they decide replaces what was decided at first
// sight; when all of them decline, that stays.
func (p *Pipeline) reconsider(ctx context.Context, r *run, index int, view View) (*Outcome, error) {
	first := r.first[index]
	text, ok := r.t.Original(index)
	if !ok || first.Reason != "" {
		return first, ctx.Err()
	}
	o := *first
	o.Acts = append([]Act(nil), first.Acts...)
	s := r.t.Segments[index]
	s.Text, s.Tokens, s.Args = text, first.Original.N, r.t.arguments(&s)
	c := chain{p: p, original: text, segment: s, tokens: first.Tokens(true), outcome: &o}
	o.Lossy = nil
	for i := range p.s.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if step := &p.s.Steps[i]; step.When == AtHorizon && o.Lossy == nil {
			if err := c.ask(ctx, step, view); err != nil {
				return nil, err
			}
		}
	}
	if o.Lossy == nil {
		o.Lossy = first.Lossy
		return &o, nil
	}
	o.Lossy.Value = r.t.Encode(r.t.Value(&s), o.Lossy.Text)
	return &o, nil
}

// Outputs yields the segments the view shows, oldest first: those up to the
// end of the horizon for a horizon component, none for others. Text and Tokens
// hold the client's originals; an output without exact text has an empty Text.
func (v View) Outputs() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		if v.run == nil {
			return
		}
		for i := range v.end {
			s := v.run.t.Segments[i]
			s.Tokens, s.Args = v.run.first[i].Original.N, v.run.t.arguments(&s)
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
