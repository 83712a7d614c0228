package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Settings is everything a pipeline is made of.
type Settings struct {
	// Steps run in order on every segment.
	Steps []Step
	// Markers mints the ids of lossy edits. Without it every edit is lossless.
	Markers *Keyring
	// Lossy permits lossy edits: somebody can resolve a marker.
	Lossy bool
	// Hints appends a component's hint to its marker.
	Hints bool
	// Tools except the outputs of some tools.
	Tools ToolRules
	// Counter counts tokens.
	Counter Counter
	// Memo may be shared by pipelines and may be nil.
	Memo *Memo
	// HorizonTokens is the distance of horizons in tokens of tool output; 0
	// makes every turn one, which bills the whole prefix anew each time.
	HorizonTokens int
	// Window is the model's context window in tokens; 0 is unknown.
	Window int
}

// Pipeline runs components over transcripts. It is immutable and safe for
// concurrent use.
type Pipeline struct {
	s       Settings
	digest  Digest
	looks   bool // some component looks beyond its segment
	later   bool // some component decides at horizons
	request bool // some component decides about the request
	gist    func(text string) string
	runs    sync.Pool
}

// New returns a pipeline.
func New(s Settings) *Pipeline {
	p := &Pipeline{s: s}
	p.s.Lossy = s.Lossy && s.Markers != nil
	h := sha256.New()
	field := func(parts ...string) {
		for _, part := range parts {
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(part)))
			h.Write(n[:])
			h.Write([]byte(part))
		}
	}
	for _, step := range s.Steps {
		if step.Request != nil {
			p.request = true
			field(step.Name, string(step.Config))
			continue
		}
		at := step.When == AtHorizon && p.s.Lossy
		p.later = p.later || at
		p.looks = p.looks || at || step.Scope == ScopeTranscript
		field(step.Name, string(step.Config))
		if r, ok := step.Component.(Recogniser); ok && p.gist == nil {
			p.gist = r.Gist
		}
	}
	field(s.Tools.parts()...)
	field(fmt.Sprint(p.s.Lossy, s.Hints, s.HorizonTokens, s.Window), s.Counter.Encoding())
	if s.Markers != nil {
		field(s.Markers.ID())
	}
	h.Sum(p.digest[:0])
	p.runs.New = func() any { return newRun() }
	return p
}

// Digest names the pipeline: equal digests decide alike.
func (p *Pipeline) Digest() Digest { return p.digest }

// Lossy reports whether any edit may carry a marker.
func (p *Pipeline) Lossy() bool { return p.s.Lossy }

// Offloads reports whether a component could leave a marker.
func (p *Pipeline) Offloads() bool {
	return p.s.Lossy && slices.ContainsFunc(p.s.Steps, func(s Step) bool { return s.Kind == KindOffload })
}

// Counter returns what counts tokens.
func (p *Pipeline) Counter() Counter { return p.s.Counter }

// Steps returns the components in order. The slice must not be changed.
func (p *Pipeline) Steps() []Step { return p.s.Steps }

// Run decides about every segment. The error is ctx's, and then the client's
// bytes must go out. Release the result when done with it.
func (p *Pipeline) Run(ctx context.Context, t *Transcript) (*Result, error) {
	r, _ := p.runs.Get().(*run)
	r.reset(t)
	r.digests(p.looks)
	for i := range t.Segments {
		r.key = memoKey{pipeline: p.digest, segment: r.segments[i]}
		if p.looks {
			r.key.view, r.key.index = r.views[i], i
		}
		o := p.s.Memo.get(&r.key)
		r.result.New = append(r.result.New, o == nil)
		if o == nil {
			key := r.key
			var err error
			if o, err = p.decide(ctx, r, i); err != nil {
				p.Release(&r.result)
				return nil, err
			}
			p.s.Memo.put(&key, o)
			r.result.Fresh++
		}
		r.result.Outcomes = append(r.result.Outcomes, o)
	}
	if p.later {
		if err := p.overlay(ctx, r); err != nil {
			p.Release(&r.result)
			return nil, err
		}
	}
	if p.request {
		if err := p.whole(ctx, r); err != nil {
			p.Release(&r.result)
			return nil, err
		}
	}
	return &r.result, nil
}

// Release gives the result's memory back. The outcomes stay valid.
func (p *Pipeline) Release(res *Result) {
	if r := res.run; r != nil {
		r.t, r.text, res.run = nil, "", nil
		clear(r.once)
		p.runs.Put(r)
	}
}

// decide runs every component on one segment.
func (p *Pipeline) decide(ctx context.Context, r *run, index int) (*Outcome, error) {
	s := r.t.Segments[index]
	o := &Outcome{}
	text, ok := r.t.Original(index)
	if !ok {
		o.Reason = ReasonNotText
		o.Original = Count{N: r.t.Segments[index].Span.Len() / bytesPerToken, Estimated: true}
		return o, ctx.Err()
	}
	r.text, r.sum = text, r.textSum(text)
	o.original, o.final, o.gist = r.sum, r.sum, r.gistSum(p.gist, text)
	r.gist = o.gist
	o.Original = p.s.Counter.Count(text)
	rule := p.s.Tools.judge(s.Tool)
	switch {
	case isExpandResult(&s):
		o.Reason = ReasonExpandResult
	case p.s.Markers != nil && p.s.Markers.Marked(text):
		o.Reason = ReasonMarked
	case rule == ReasonToolExcluded:
		o.Reason = rule
	}
	if o.Reason != "" {
		return o, ctx.Err()
	}
	s.Text, s.Tokens, s.Args = text, o.Original.N, r.t.arguments(&s)
	s.Request = RequestSize{Tokens: s.Tokens, Messages: s.Messages, Window: p.s.Window}
	if p.looks {
		s.Request.Tokens += r.before(index)
	}
	c := chain{p: p, original: text, segment: s, rule: rule, tokens: s.Tokens, price: s.Tokens, outcome: o}
	for i := range p.s.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := &p.s.Steps[i]
		if step.Request != nil || step.When == AtHorizon || step.Kind == KindOffload && !p.s.Lossy {
			continue // later, about the request, or nobody could read the original back
		}
		view := View{}
		if step.Scope == ScopeTranscript {
			view = View{run: r}
		}
		if err := c.ask(ctx, i, view); err != nil {
			return nil, err
		}
	}
	o.price = c.price
	o.Edits = edits(o.Acts)
	if v := o.Pick(true); v != nil {
		o.final = r.textSum(v.Text)
	}
	for _, v := range []*Version{o.Lossless, o.Lossy} {
		if v != nil {
			v.Value = r.t.Encode(r.t.Value(&s), v.Text)
		}
	}
	return o, nil
}

// bytesPerToken is the usual rule of thumb, for texts that cannot be counted.
const bytesPerToken = 4

// chain is one segment on its way through the components.
type chain struct {
	p        *Pipeline
	original string
	segment  Segment // with the lossless edits; a lossy one is in outcome
	rule     Reason  // for the segment's tool; lossy edits are out of the question when there is one
	tokens   int     // of what is sent
	price    int     // the same, with the dearest marker
	outcome  *Outcome
}

// ask lets one component decide and adopts its edit if every guard agrees.
// Only ctx's error is returned.
func (c *chain) ask(ctx context.Context, index int, view View) error {
	step := &c.p.s.Steps[index]
	act := Act{Component: step.Name, Step: index, Before: c.tokens, After: c.tokens}
	early := step.When == FirstSight
	switch {
	case c.outcome.Lossy != nil && (!early || !step.Fallback):
		act.Reason = ReasonMarked
	case c.rule != "" && step.Kind == KindOffload:
		act.Reason = c.rule
	case step.Kind == KindOffload && early && c.segment.IsError && c.segment.Tokens < HugeErrorTokens:
		act.Reason = ReasonErrorResult
	default:
		start := time.Now()
		edit, reason := call(ctx, step, view, c.segment)
		act.Took = time.Since(start)
		if err := ctx.Err(); err != nil {
			return err
		}
		if reason == "" {
			reason = c.adopt(step, edit)
		}
		if reason == "" && early && edit.kind == editOffload {
			act.Before = c.outdo(act.Before)
		}
		act.Reason, act.Acted, act.After = reason, reason == "", c.tokens
		act.Lossy = act.Acted && edit.kind == editOffload
	}
	c.outcome.Acts = append(c.outcome.Acts, act)
	return nil
}

// edits returns the acts that were adopted.
func edits(acts []Act) []Act {
	n := 0
	for i := range acts {
		if acts[i].Acted {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	adopted := make([]Act, 0, n)
	for i := range acts {
		if acts[i].Acted {
			adopted = append(adopted, acts[i])
		}
	}
	return adopted
}

// call isolates the pipeline from a component that panics.
func call(ctx context.Context, step *Step, view View, s Segment) (edit Edit, reason Reason) {
	defer func() {
		if recover() != nil {
			edit, reason = Edit{}, ReasonPanic
		}
	}()
	edit, err := step.Component.Rewrite(ctx, view, s)
	if err != nil {
		return Edit{}, ReasonFailed
	}
	return edit, ""
}

// adopt applies an edit, or returns why it must not be.
func (c *chain) adopt(step *Step, e Edit) Reason {
	switch e.kind {
	case editReplace:
		switch {
		case step.When == AtHorizon:
			return ReasonKind
		case c.outcome.Lossy != nil:
			return ReasonMarked
		}
		return c.replace(e)
	case editAnnotate:
		return ReasonKind
	case editOffload:
		if step.Kind != KindOffload {
			return ReasonKind
		}
		return c.offload(e.loss, step.When)
	default:
		if e.reason == "" {
			return ReasonUnchanged
		}
		return e.reason
	}
}

func (c *chain) replace(e Edit) Reason {
	if reason := c.weigh(e.text); reason != "" {
		return reason
	}
	tokens := c.p.s.Counter.Count(e.text).N
	if tokens >= c.tokens {
		return ReasonNoWin
	}
	if e.same.Check == nil || !passes(e.same, c.segment.Text, e.text) {
		return ReasonNotEquivalent
	}
	c.segment.Text, c.tokens, c.price = e.text, tokens, tokens
	c.segment.Renumbered = c.segment.Renumbered || !e.same.Lines
	c.outcome.Lossless = &Version{Text: e.text, Tokens: tokens}
	return ""
}

// passes runs an equivalence's check; a check that panics does not pass.
func passes(same Equivalence, before, after string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return same.Check(before, after) == nil
}

func (c *chain) offload(loss Loss, when When) Reason {
	if !c.p.s.Hints || loss.Mode == MarkerSummary {
		loss.Hint = ""
	}
	text, id := loss.Before+loss.After, ""
	if loss.Mode != MarkerOff {
		id = c.p.s.Markers.Mint(c.original)
		text = loss.Before + Marker(id) + loss.Hint + loss.After
	}
	if reason := c.weigh(text); reason != "" {
		return reason
	}
	tokens := c.p.s.Counter.Count(text).N
	price := tokens
	if id != "" {
		price = c.p.price(loss)
	}
	switch {
	case c.outcome.Lossy != nil && price*muchSmaller > c.price:
		return ReasonMarked
	case tokens >= c.tokens || price >= c.price:
		return ReasonNoWin
	case when == FirstSight:
		if reason := loss.showsErrors(c.segment.IsError, c.original, text); reason != "" {
			return reason
		}
	}
	c.tokens, c.price, c.segment.View = tokens, price, tokens
	c.outcome.Lossy = &Version{Text: text, Tokens: tokens, ID: id}
	c.outcome.Irreversible = id == ""
	return ""
}

// price is what a view costs with the dearest of all markers in it. Ids are
// hashes, and one costs some tokens more than another; whether an edit is worth
// it must not hang on that, or another service key, or the same text one edit
// later, would be decided otherwise.
func (p *Pipeline) price(loss Loss) int {
	return p.s.Counter.Count(loss.Before + Marker(dearestID) + loss.Hint + loss.After).N
}

func (c *chain) weigh(text string) Reason {
	switch {
	case text == c.segment.Text:
		return ReasonUnchanged
	case strings.TrimSpace(text) == "":
		return ReasonEmpty
	default:
		return ""
	}
}
