package hidden

import (
	"bytes"
	"context"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Request is a request as the client sent it.
type Request struct {
	Dialect wire.Dialect
	// Transcript and Outline are those of one parse of the body.
	Transcript *pipeline.Transcript
	Outline    wire.Outline
	// Tenants are the names of the request's owner, one per service key, the
	// current one first. Without any, nothing is restored.
	Tenants []string
	// Answer answers calls of the expand tool that reached the client; nil leaves
	// them as they are. The answer must be the same in every request.
	Answer Answer
}

// Restored is what has to be done to a request.
type Restored struct {
	// Patches are in body order and do not overlap. They insert and remove
	// elements and shorten texts of the model, and replace results of calls that
	// had no business at the client.
	Patches []wire.Patch
	// Place is where the model's next turn will stand.
	Place Place
	// Turns counts the turns that got their hidden rounds back, Unfit those whose
	// record does not fit what the client sent.
	Turns, Unfit int
	// Asked counts the names that the store was asked for.
	Asked int
	// Healed counts the results that were replaced.
	Healed int
	// Echoes counts the markers of ours in the model's newest turn, as the client
	// has it: in its texts, or in what it lets the client's tools do. Nobody edits
	// them; a model that repeats markers has taken them for text.
	Echoes int
	// StoreError is why records could not be read, or nil. The request is valid
	// all the same.
	StoreError error
}

// Place is where a turn stands in a conversation, which is half of its name. It
// is independent of the request's memory.
type Place struct {
	root    Root
	context sum
	taken   map[name]bool
}

func (p *Place) isTaken(n name) bool { return p.taken[n] }

// take notes the names of a turn, except those that cannot be anybody else's.
func (p *Place) take(names []name) {
	for _, n := range names {
		if n.by != byText {
			p.taken[n] = true
		}
	}
}

// visit is a turn of the model in a request.
type visit struct {
	from, to int // its elements
	names    []name
	ours     bool
	// record is the record under one of its names, if there is one.
	record *entry
	by     int // the name that it is known by
}

// Restore finds the turns of a request that had hidden rounds and says how they
// get them back. It waits for the store once at most, and only when the request
// has turns that this process does not know yet.
func (k *Keeper) Restore(ctx context.Context, req Request) Restored {
	r := &reader{dialect: req.Dialect}
	r.body = req.Transcript.Body
	out := Restored{Place: Place{root: RootOf(req.Transcript.Preamble), taken: make(map[name]bool, len(req.Outline.Elements)/2)}}
	visits := k.visits(r, req.Outline.Elements, &out.Place)
	if len(req.Tenants) > 0 {
		unknown := k.find(req.Tenants[0], visits)
		if out.Asked = len(unknown); len(unknown) > 0 {
			var found map[name]*entry
			found, out.StoreError = k.ask(ctx, req.Tenants, unknown)
			for i := range visits {
				visits[i].adopt(found)
			}
		}
	}
	if n := len(visits); n > 0 {
		out.Echoes = k.echoes(r, req.Outline.Elements, &visits[n-1])
	}
	for i := range visits {
		v := &visits[i]
		rec := k.recordOf(ctx, req.Tenants, v)
		if rec == nil && (!v.ours || req.Answer == nil) {
			continue
		}
		t, ok := r.turn(req.Outline.Elements[v.from:v.to])
		if !ok {
			continue
		}
		p := patcher{r: r, elements: req.Outline.Elements, list: req.Outline.Value, visit: *v, turn: t}
		if rec != nil {
			if p.restore(rec) {
				out.Turns++
			} else {
				out.Unfit++
			}
		}
		if v.ours && req.Answer != nil {
			out.Healed += p.heal(req.Answer, mostHealed-out.Healed)
		}
		out.Patches = append(out.Patches, p.sorted()...)
	}
	return out
}

// visits walks over the conversation.
func (k *Keeper) visits(r *reader, elements []wire.Element, place *Place) []visit {
	list := make([]visit, 0, len(elements)/2+1)
	for i := 0; i < len(elements); {
		if !elements[i].Assistant {
			place.context = contextOf(place.context, k.textsOf(r, elements[i].Span))
			i++
			continue
		}
		v := visit{from: i, to: i + 1}
		for r.dialect == wire.OpenAIResponses && v.to < len(elements) && elements[v.to].Assistant {
			v.to++
		}
		if e, ok := k.essence(r, elements[v.from:v.to]); ok {
			v.names, v.ours = e.names(place.root, place.context, place.isTaken), e.ours
			place.take(v.names)
			list = append(list, v)
		}
		i = v.to
	}
	return list
}

// echoes counts the markers in a turn, if it is the newest one of the request.
func (k *Keeper) echoes(r *reader, elements []wire.Element, v *visit) (n int) {
	for _, e := range elements[v.to:] {
		if e.Assistant {
			return 0
		}
	}
	for _, e := range elements[v.from:v.to] {
		if value := r.value(e.Span); bytes.Contains(value, []byte("cg:")) {
			for range k.c.Keys.Markers(string(value)) {
				n++
			}
		}
	}
	return n
}

// find notes what is known of the turns, and returns the names of which nothing is.
func (k *Keeper) find(tenant string, visits []visit) (unknown []name) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range visits {
		v := &visits[i]
		for j, n := range v.names {
			switch e, ok := k.recent.Get(owned{tenant, n}); {
			case !ok, e.data == nil && k.c.Now().Sub(e.renewed) >= missingFor:
				unknown = append(unknown, n)
			case e.data != nil && v.record == nil:
				v.record, v.by = e, j
			}
		}
	}
	return unknown
}

// adopt notes the record under the first of the turn's names that has one.
func (v *visit) adopt(found map[name]*entry) {
	for i, n := range v.names {
		if e := found[n]; e != nil && (v.record == nil || i < v.by) {
			v.record, v.by = e, i
		}
	}
}

// recordOf returns the record of a turn, or nil.
func (k *Keeper) recordOf(ctx context.Context, tenants []string, v *visit) *record {
	if v.record == nil {
		return nil
	}
	rec, err := decode(v.record.data)
	if err != nil {
		return nil
	}
	k.renew(ctx, tenants, v.names[v.by], v.record)
	return rec
}

// Merge merges the patches of a restoration with edits of the same body, both in
// body order. An edit of something that is taken out or replaced is left out.
func Merge(dst, edits, restored []wire.Patch) []wire.Patch {
	for len(edits) > 0 || len(restored) > 0 {
		switch {
		case len(restored) == 0:
			return append(dst, edits...)
		case len(edits) > 0 && edits[0].Span.End <= restored[0].Span.Start && edits[0].Span.Start < restored[0].Span.Start:
			dst, edits = append(dst, edits[0]), edits[1:]
		default:
			over := restored[0].Span
			dst, restored = append(dst, restored[0]), restored[1:]
			for len(edits) > 0 && edits[0].Span.Start < over.End {
				edits = edits[1:]
			}
		}
	}
	return dst
}
