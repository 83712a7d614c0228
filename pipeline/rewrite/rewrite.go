package rewrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// Config is what a Rewriter is made of.
type Config struct {
	// Pipeline returns the pipeline for a request: its counter must count in the
	// model's encoding. Requests of one conversation must get pipelines of one
	// digest.
	Pipeline func(ctx context.Context, c Choice) *pipeline.Pipeline
	// Choose, if set, takes the place of Pipeline and Expand where both follow the
	// conversation: it may have begun under another configuration.
	Choose func(ctx context.Context, c Choice) (*pipeline.Pipeline, Expand)
	// Store keeps the originals.
	Store store.Store
	// TTL is the sliding lifetime of an original; 0 is the store's default.
	TTL time.Duration
	// MaxBody caps a body before and after rewriting, in bytes; 0 is no cap.
	MaxBody int
	// Limits bound what is parsed.
	Limits wire.Limits
	// Expand says who reads originals back.
	Expand Expand
	// Hidden gives requests back what their clients did not see of earlier
	// answers; nil gives nothing. Only for ResolverLoop.
	Hidden *hidden.Keeper
}

// Choice is what a request's pipeline may be chosen by.
type Choice struct {
	// Model is the model of the body or else of the path; it may be empty.
	Model string
	// Tenant is the owner of the originals, empty for none.
	Tenant string
	// Preset is the request's, see [Request].
	Preset string
	// Transcript is the request as it was parsed.
	Transcript *pipeline.Transcript
}

// Rewriter makes bodies smaller. It is immutable and safe for concurrent use.
type Rewriter struct {
	c     Config
	works sync.Pool
}

// New returns a Rewriter.
func New(c Config) *Rewriter {
	r := &Rewriter{c: c}
	r.works.New = func() any { return &work{parser: wire.NewParser(c.Limits), seen: map[string]bool{}} }
	return r
}

// Request is one body to rewrite.
type Request struct {
	Dialect wire.Dialect
	// Model is the model the request's path names; a model in the body counts
	// more.
	Model string
	// Body must not change until the reply is released.
	Body []byte
	// Tenant names the owner of the originals; empty means that there is none
	// and that only lossless edits are made.
	Tenant string
	// Tenants are all names of that owner, one per service key and Tenant first;
	// empty means that there are no others.
	Tenants []string
	// Preset names the pipeline that was asked for; empty means the one that is
	// configured.
	Preset string
	// LosslessOnly forbids markers.
	LosslessOnly bool
	// Shed says that calls of the expand tool could not be answered now: under
	// ResolverLoop a conversation that begins gets lossless edits only.
	Shed bool
	// Aside says that the request asks about a conversation: see [wire.Aside].
	Aside bool
	// Binary says that the answer cannot be read, and so no call in it: see
	// [wire.Binary].
	Binary bool
	// Explain fills in the report's Explained.
	Explain bool
}

// Reply is the outcome of one request.
type Reply struct {
	// Body is the new body, or nil when the client's bytes must go out. It is
	// valid until Release.
	Body   []byte
	Report Report
	// Originals has the texts behind the markers in Body; nil when there are
	// none, and unless the resolver is the loop. It stays valid after Release.
	Originals *Originals
	// Place is where the model's answer will stand, for whoever records what the
	// client does not see of it. It stays valid after Release, and is nil when
	// nobody may: without the expand tool, or without a Keeper.
	Place *hidden.Place

	work *work
	pool *sync.Pool
}

// Release gives the reply's memory back; Body must not be used afterwards.
func (r *Reply) Release() {
	if r.work != nil {
		r.work.parser.Release()
		r.work.t = nil
		r.pool.Put(r.work)
		r.work, r.Body = nil, nil
	}
}

// work is the scratch space of one request.
type work struct {
	parser   *wire.Parser
	patches  []wire.Patch
	items    []store.Item
	seen     map[string]bool
	edits    []ComponentEdits         // by step
	loads    []func() ([]byte, error) // of the items, kept from request to request
	where    []int                    // the segments of the items
	t        *pipeline.Transcript
	expand   Expand     // how the request is prepared
	lossy    bool       // markers may be sent
	tool     tool.State // whether the expand tool is among what is inserted
	inserted []wire.Patch
	merged   []wire.Patch
	refused  map[string]bool // ids the store holds another text under
	out      []byte
}

// Rewrite never fails: whatever goes wrong, the reply says so and carries no
// body, which means that the client's bytes go out.
func (r *Rewriter) Rewrite(ctx context.Context, req Request) (reply *Reply) {
	w, _ := r.works.Get().(*work)
	reply = &Reply{work: w, pool: &r.works}
	reply.Report = Report{Dialect: string(req.Dialect), Verdict: PassThrough, BytesBefore: len(req.Body), BytesAfter: len(req.Body)}
	defer func() {
		if p := recover(); p != nil {
			// The scratch space may be half written: leave it to the collector.
			reply.work, reply.Body = nil, nil
			reply.Report.Verdict, reply.Report.Reason = PassThrough, ReasonPanic
		}
	}()
	r.rewrite(ctx, w, req, reply)
	return reply
}

func (r *Rewriter) rewrite(ctx context.Context, w *work, req Request, reply *Reply) {
	report := &reply.Report
	t, err := w.parser.Parse(req.Dialect, req.Body)
	if err != nil {
		report.Reason = unreadable(err)
		return
	}
	report.Model, report.Stream = cmp.Or(t.Model, req.Model), t.Stream
	if t.Caching != nil && !wire.TakesMarks(req.Dialect, report.Model) {
		t.Caching = nil
	}
	p := r.choose(ctx, w, Choice{Model: report.Model, Tenant: req.Tenant, Preset: req.Preset, Transcript: t})
	res, err := p.Run(ctx, t)
	if err != nil {
		report.Reason = ended(err)
		return
	}
	defer p.Release(res)
	w.lossy = r.keep(ctx, w, req, p, t, res, report)
	report.tally(t, res, p.Steps(), w)
	if req.Explain {
		report.explain(t, res, w)
	}
	w.patch(t, res)
	report.Acts = append(report.Acts, res.Acts...)
	marks := w.annotate(req.Body, res.Annotations, r.c.MaxBody)
	w.insert(w.inserted...)
	restored := r.restore(ctx, w, req, t, res, reply)
	if len(w.patches)+len(restored) == 0 {
		report.Verdict, report.Tool = Unchanged, w.tool
		return
	}
	out, reason := w.splice(req.Body, restored, r.c.MaxBody, report)
	if reason != "" {
		report.Reason, reply.Place = reason, nil
		return
	}
	report.Verdict, report.BytesAfter, report.Marks, report.Tool = Rewritten, len(out), marks, w.tool
	if w.tool == tool.Injected {
		report.ToolTokens = p.Counter().Count(string(w.inserted[0].Raw)).N
	}
	if w.expand.Resolver == ResolverLoop {
		reply.Originals = w.originals(t, res, p.Counter(), report.Markers)
	}
	reply.Body = out
}

// choose returns the pipeline of a request, and notes how it is prepared. Calls
// can only be answered by a service that was built to.
func (r *Rewriter) choose(ctx context.Context, w *work, c Choice) *pipeline.Pipeline {
	w.expand = r.c.Expand
	if r.c.Choose == nil {
		return r.c.Pipeline(ctx, c)
	}
	p, x := r.c.Choose(ctx, c)
	if x.Resolver != ResolverLoop || w.expand.Resolver == ResolverLoop {
		w.expand = x
	}
	return p
}

// keep puts the originals behind the lossy edits into the store and reports
// whether markers may be sent.
func (r *Rewriter) keep(ctx context.Context, w *work, req Request, p *pipeline.Pipeline, t *pipeline.Transcript, res *pipeline.Result, report *Report) bool {
	w.refused, w.tool, w.inserted = nil, "", w.inserted[:0]
	loop := w.expand.Resolver == ResolverLoop
	switch {
	case !p.Lossy(), w.expand.Resolver == ResolverNone:
		report.Lossless = LosslessNoResolver
	case req.LosslessOnly:
		report.Lossless = LosslessAsked
	case req.Tenant == "":
		report.Lossless = LosslessNoTenant
	case t.ServerHeld:
		report.Lossless = LosslessServerHeld
	}
	if loop {
		w.tool = ToolLosslessOnly
		if report.Lossless == "" {
			w.tool, report.Lossless = r.prepare(w, req, p, t, report)
		}
	}
	if report.Lossless != "" {
		return false
	}
	w.collect(req.Tenant, r.c.TTL, t, res)
	if len(w.items) == 0 {
		return true
	}
	err := r.c.Store.PutAll(ctx, w.items)
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok && loop {
		report.Conflicts, err = len(conflict.Keys), nil
	} else if ok {
		// Two texts under one 80-bit id: the later one keeps its own bytes.
		w.refused = make(map[string]bool, len(conflict.Keys))
		for _, k := range conflict.Keys {
			w.refused[k.ID] = true
		}
		report.Conflicts, err = len(conflict.Keys), nil
	}
	report.StoreError = err
	if err != nil && !loop {
		report.Lossless = LosslessStore
		return false
	}
	return true
}

// collect lists the originals of the lossy edits, each once.
func (w *work) collect(tenant string, ttl time.Duration, t *pipeline.Transcript, res *pipeline.Result) {
	clear(w.seen)
	clear(w.items)
	w.items, w.where, w.t = w.items[:0], w.where[:0], t
	for i, o := range res.Outcomes {
		if o.Lossy == nil || o.Lossy.ID == "" || w.seen[o.Lossy.ID] {
			continue
		}
		w.seen[o.Lossy.ID] = true
		w.items = append(w.items, store.Item{
			Key:  store.Key{Tenant: tenant, Space: store.Originals, ID: o.Lossy.ID},
			Load: w.load(i),
			Sum:  o.Sum(),
			TTL:  ttl,
		})
	}
}

// load returns what reads the original of the next item. A conversation has as
// many items in its next request, so the functions are made once.
func (w *work) load(segment int) func() ([]byte, error) {
	n := len(w.where)
	w.where = append(w.where, segment)
	if n == len(w.loads) {
		w.loads = append(w.loads, func() ([]byte, error) { return original(w.t, w.where[n]) })
	}
	return w.loads[n]
}

func original(t *pipeline.Transcript, i int) ([]byte, error) {
	text, ok := t.Original(i)
	if !ok {
		return nil, fmt.Errorf("segment %d has no text", i)
	}
	return []byte(text), nil
}

// version is what goes out for an outcome; nil means the client's own bytes.
func (w *work) version(o *pipeline.Outcome) *pipeline.Version {
	v := o.Pick(w.lossy)
	if v != nil && w.refused[v.ID] {
		return o.Lossless
	}
	return v
}

// patch lists the versions to send as patches of the body.
func (w *work) patch(t *pipeline.Transcript, res *pipeline.Result) {
	clear(w.patches)
	w.patches = w.patches[:0]
	for i, o := range res.Outcomes {
		if v := w.version(o); v != nil {
			w.patches = append(w.patches, wire.Patch{Span: t.Segments[i].Span, Value: v.Value})
		}
	}
}

// annotate adds what request components insert to the patches, in the order of
// the body, and returns how many insertions there are. A body that has no room
// for them keeps its other edits.
func (w *work) annotate(body []byte, add []pipeline.Annotation, most int) int {
	if len(add) == 0 {
		return 0
	}
	size := len(body)
	for _, a := range add {
		size += len(a.Value)
	}
	if most > 0 && size > most {
		return 0
	}
	for _, a := range add {
		w.insert(wire.Patch{Span: pipeline.Span{Start: a.Offset, End: a.Offset}, Raw: a.Value})
	}
	return len(add)
}

func unreadable(err error) string {
	if u, ok := errors.AsType[*wire.UnreadableError](err); ok {
		return u.Reason
	}
	return ReasonSplice
}

func ended(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return ReasonDeadline
	}
	return ReasonCancelled
}
