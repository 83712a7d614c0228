package rewrite

import (
	"context"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// restore asks for the patches that give the request its hidden rounds back. A
// request without the tool gets none: it shares no prefix with those that have
// it, and some providers refuse calls of tools that are not declared.
func (r *Rewriter) restore(ctx context.Context, w *work, req Request, t *pipeline.Transcript, res *pipeline.Result, reply *Reply) []wire.Patch {
	if r.c.Hidden == nil || w.tool != tool.Injected {
		return nil
	}
	tenants := req.Tenants
	if len(tenants) == 0 {
		tenants = []string{req.Tenant}
	}
	got := r.c.Hidden.Restore(ctx, hidden.Request{
		Dialect: req.Dialect, Transcript: t, Outline: w.parser.Outline(), Tenants: tenants,
		Answer: func(call round.Call) (round.Result, bool) { return w.answer(ctx, t, res, call) },
	})
	reply.Place = &got.Place
	reply.Report.Restored, reply.Report.Unfit, reply.Report.Healed = got.Turns, got.Unfit, got.Healed
	reply.Report.Echoes, reply.Report.HiddenError = got.Echoes, got.StoreError
	return got.Patches
}

// answer answers a call of the expand tool that reached the client, out of this
// request alone, so that every later request has the same answer.
func (w *work) answer(ctx context.Context, t *pipeline.Transcript, res *pipeline.Result, call round.Call) (round.Result, bool) {
	q, err := expand.ParseArguments(call.Arguments)
	if err != nil {
		return round.Result{}, false
	}
	for i, o := range res.Outcomes {
		v := w.version(o)
		if v == nil || v.ID == "" || v.ID != q.ID {
			continue
		}
		text, ok := t.Original(i)
		if !ok {
			return round.Result{}, false
		}
		part, err := expand.Window(ctx, text, q, expand.DefaultWindow)
		return round.Result{Text: part.String()}, err == nil
	}
	return round.Result{}, false
}

// splice writes the body. When it is too large with its hidden rounds, it goes
// out without them. The reason says why there is none, and is empty if there is.
func (w *work) splice(body []byte, restored []wire.Patch, most int, report *Report) (out []byte, reason string) {
	patches := w.patches
	if len(restored) > 0 {
		w.merged = hidden.Merge(w.merged[:0], w.patches, restored)
		patches = w.merged
	}
	out, err := wire.Splice(w.out[:0], body, patches)
	if err != nil {
		return nil, ReasonSplice
	}
	w.out = out
	switch {
	case most <= 0 || len(out) <= most:
		return out, ""
	case len(restored) > 0:
		report.Restored, report.Healed = 0, 0
		return w.splice(body, nil, most, report)
	default:
		return nil, ReasonOverLimit
	}
}
