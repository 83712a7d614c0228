package pipeline

import (
	"context"
	"time"
)

// RequestComponent decides about a request as a whole: about what is cached, not
// about one output. Like a Component it must be a pure function of the view, safe
// for concurrent use and bounded by the length of the request. It is asked after
// every output was decided about, in every request; nothing of it is remembered,
// so it must be cheap. An error or a panic undoes all its edits of the request.
type RequestComponent interface {
	Apply(ctx context.Context, v View) ([]Edit, error)
}

// TTL is for how long a provider is to keep what a mark caches.
type TTL uint8

const (
	// TTL5m is five minutes after the last use, what a mark without a time means.
	TTL5m TTL = iota
	// TTL1h is an hour. Providers want marks for an hour in front of those for
	// five minutes.
	TTL1h
)

// Place is where a cache mark can stand. Places are made by a request's Caching.
type Place struct {
	// Offset is the byte in the body in front of which the mark goes.
	Offset int
}

// Caching is what a request says about caching to a provider that caches what
// is marked and nothing else. A mark caches all that the model reads up to the
// place where it stands. Methods read the body anew when they are called, in
// linear time, so that a request pays for what is asked only.
type Caching interface {
	// Marks counts the marks the client has set, in every spelling there is,
	// one that asks the provider to choose the place among them.
	Marks() int
	// Most is the most marks a request may carry.
	Most() int
	// Tools reports that the request offers tools.
	Tools() bool
	// Head is the last place in front of the conversation, behind tools and system.
	Head() (Place, bool)
	// End is the last place in the conversation up to the end of a turn: in what
	// a request whose newest turn this was had sent. Places are in user messages.
	End(turn int) (Place, bool)
	// Mark is what has to be inserted at a place. It must not be changed.
	Mark(ttl TTL) []byte
}

// Annotate marks a place for the provider's cache. It changes nothing that the
// model reads. Only request components may annotate.
func Annotate(at Place, ttl TTL) Edit { return Edit{kind: editAnnotate, place: at, ttl: ttl} }

// Annotation is bytes to insert that the model does not read.
type Annotation struct {
	// Offset is the byte in the body in front of which Value goes.
	Offset int
	Value  []byte
}

// Caching is how the request says what is to be cached. It is nil when the
// provider decides that by itself, and for components that decide about one
// output.
func (v View) Caching() Caching {
	if !v.whole {
		return nil
	}
	return v.run.t.Caching
}

// Marks counts the marks of the request, those of components in front included.
func (v View) Marks() int {
	c := v.Caching()
	if c == nil {
		return 0
	}
	return c.Marks() + len(v.run.result.Annotations)
}

// Turn is the newest turn, for components that decide about a request.
func (v View) Turn() int {
	if !v.whole {
		return 0
	}
	return v.run.t.Turn
}

// Size is the number of outputs of tools, for components that decide about a
// request.
func (v View) Size() int {
	if !v.whole {
		return 0
	}
	return len(v.run.t.Segments)
}

// whole lets the request components decide.
func (p *Pipeline) whole(ctx context.Context, r *run) error {
	for i := range p.s.Steps {
		step := &p.s.Steps[i]
		if step.Request == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		act := Act{Component: step.Name, Step: i}
		start := time.Now()
		edits, reason := callWhole(ctx, step, View{run: r, end: len(r.t.Segments), whole: true})
		act.Took = time.Since(start)
		if err := ctx.Err(); err != nil {
			return err
		}
		if reason == "" {
			reason = r.annotate(edits)
		}
		act.Reason, act.Acted = reason, reason == ""
		r.result.Acts = append(r.result.Acts, act)
	}
	return nil
}

// callWhole isolates the pipeline from a component that panics.
func callWhole(ctx context.Context, step *Step, view View) (edits []Edit, reason Reason) {
	defer func() {
		if recover() != nil {
			edits, reason = nil, ReasonPanic
		}
	}()
	edits, err := step.Request.Apply(ctx, view)
	if err != nil {
		return nil, ReasonFailed
	}
	return edits, ""
}

// annotate adopts the edits of a request component, all or none, or returns why
// it does not. A request that is marked already is left as it is, which keeps
// every order and number of marks that the client thought of.
func (r *run) annotate(edits []Edit) Reason {
	c, before := r.t.Caching, len(r.result.Annotations)
	reason := ReasonUnchanged
	for i := range edits {
		switch e := &edits[i]; {
		case e.kind == editNone && e.reason != "":
			reason = e.reason
			continue
		case e.kind == editNone:
			continue
		case e.kind != editAnnotate || c == nil:
			reason = ReasonKind
		case before > 0 || c.Marks() > 0:
			reason = ReasonMarked
		case len(r.result.Annotations) >= c.Most() || r.annotated(e.place.Offset):
			reason = ReasonTooMany
		case e.place.Offset <= 0 || e.place.Offset >= len(r.t.Body):
			reason = ReasonKind
		default:
			r.result.Annotations = append(r.result.Annotations, Annotation{e.place.Offset, c.Mark(e.ttl)})
			continue
		}
		r.result.Annotations = r.result.Annotations[:before]
		return reason
	}
	if len(r.result.Annotations) == before {
		return reason
	}
	return ""
}

// annotated reports whether a place has a mark by now.
func (r *run) annotated(offset int) bool {
	for _, a := range r.result.Annotations {
		if a.Offset == offset {
			return true
		}
	}
	return false
}
