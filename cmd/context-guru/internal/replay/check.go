package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/tool"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/store"
)

// prefix checks that a rewritten request continues what was sent before as far as
// the client's does.
func (r *replayer) prefix(x *exchange) {
	switch {
	case !x.entry.Broken():
	case r.planned(x):
		r.out.Breaks.Planned++
	default:
		r.out.Breaks.Unplanned++
		r.fail(x, "it does not continue what was sent before")
	}
}

// earlier returns the request that this one has most in common with, the newest
// of several, and the number of units they share.
func (r *replayer) earlier(x *exchange) (found *turn, shared int) {
	for i := len(r.recent) - 1; i >= 0; i-- {
		n := 0
		for n < min(len(x.units), len(r.recent[i].units)) && x.units[n].Digest == r.recent[i].units[n].Digest {
			n++
		}
		if found == nil || n > shared {
			found, shared = &r.recent[i], n
		}
	}
	return found, shared
}

// planned reports whether a horizon explains why outputs in the shared units
// differ from what was sent before.
func (r *replayer) planned(x *exchange) bool {
	was, shared := r.earlier(x)
	if was == nil || was.horizon == x.horizon {
		return false
	}
	found := false
	for i := range min(len(x.explained), len(was.explained)) {
		if unitOf(x.before, i) >= shared {
			break
		}
		old, now := &was.explained[i], &x.explained[i]
		if old.Text == now.Text {
			continue
		}
		if !r.byLate(old) && !r.byLate(now) {
			return false
		}
		found = true
	}
	return found
}

// byLate reports whether what was sent of an output was decided at a horizon.
func (r *replayer) byLate(e *rewrite.Explanation) bool {
	return slices.ContainsFunc(e.Outcome.Acts, func(a pipeline.Act) bool { return a.Acted && r.p.late(a.Component) })
}

// verified names an edit that was looked at: the client's value and ours.
type verified struct{ client, ours [sha256.Size]byte }

// restores checks that with the outputs put back a rewritten request is the
// client's, and that every edited output leads back to the client's text.
func (r *replayer) restores(ctx context.Context, x *exchange) error {
	before, sent := x.before, x.sent
	if bytes.Equal(before.Body, sent) {
		return nil
	}
	after, err := r.provider.Parse(r.c.Dialect, sent)
	if err != nil {
		r.lose(x, "the rewritten request cannot be read: %v", err)
		return nil
	}
	if len(after.Segments) != len(before.Segments) {
		r.lose(x, "%d outputs became %d", len(before.Segments), len(after.Segments))
		return nil
	}
	client, ours := 0, 0
	for j := range before.Segments {
		b, a := before.Segments[j].Span, after.Segments[j].Span
		if !r.same(before.Body[client:b.Start], sent[ours:a.Start]) {
			r.lose(x, "what stands in front of output %d differs", j)
		}
		client, ours = b.End, a.End
		if err := r.restore(ctx, x, j, after); err != nil {
			return err
		}
	}
	if !r.same(before.Body[client:], sent[ours:]) {
		r.lose(x, "what stands behind the outputs differs")
	}
	return nil
}

// additions are what may be put into a request beside the outputs: marks for the
// provider's cache, and the tool that resolves markers.
func additions(d wire.Dialect) []string {
	const ttl = `,"ttl":"1h"`
	list := []string{
		`,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral"` + ttl + `}`,
		`,{"cachePoint":{"type":"default"}}`, `,{"cachePoint":{"type":"default"` + ttl + `}}`,
	}
	if definition := tool.Definition(d); definition != "" {
		list = append(list, ","+definition, definition+",", definition)
	}
	return list
}

// same reports whether what stands between outputs is the client's, with
// nothing but additions in it.
func (r *replayer) same(client, sent []byte) bool {
	for !bytes.Equal(client, sent) {
		n := 0
		for n < min(len(client), len(sent)) && client[n] == sent[n] {
			n++
		}
		start, size := r.addition(sent, n)
		if size == 0 {
			return false
		}
		client, sent = client[start:], sent[start+size:]
	}
	return true
}

// addition finds what was added around the first byte that differs. It may have
// begun before, like what the client has there.
func (r *replayer) addition(sent []byte, differs int) (start, size int) {
	for _, a := range r.added {
		for start := max(0, differs-len(a)+1); start <= differs; start++ {
			if bytes.HasPrefix(sent[start:], []byte(a)) {
				return start, len(a)
			}
		}
	}
	return 0, 0
}

// restore checks one output, once for each way it is sent.
func (r *replayer) restore(ctx context.Context, x *exchange, j int, after *pipeline.Transcript) error {
	before := x.before
	client, ours := before.Value(&before.Segments[j]), after.Value(&after.Segments[j])
	if bytes.Equal(client, ours) {
		return nil
	}
	key := verified{sha256.Sum256(client), sha256.Sum256(ours)}
	if r.verified[key] {
		return nil
	}
	r.verified[key] = true
	original, ok := before.Original(j)
	text, exact := after.Original(j)
	if !ok || !exact {
		r.lose(x, "output %d was edited although it has no exact text", j)
		return nil
	}
	outcome := x.explained[j].Outcome
	ids := slices.DeleteFunc(slices.Collect(r.p.keys.Markers(text)), func(id string) bool {
		return slices.Contains(slices.Collect(r.p.keys.Markers(original)), id)
	})
	switch {
	case len(ids) == 0 && outcome.Lossless != nil && outcome.Lossless.Text == text:
	case len(ids) == 0 && outcome.Irreversible:
		r.out.Restores.Irreversible++
	case len(ids) == 0:
		r.lose(x, "output %d was edited and carries no marker", j)
	default:
		return r.resolve(ctx, x, j, ids, original)
	}
	return nil
}

// resolve asks the store for what stands behind the markers of an output.
func (r *replayer) resolve(ctx context.Context, x *exchange, j int, ids []string, original string) error {
	for _, id := range ids {
		r.out.Restores.Checked++
		kept, err := r.p.store.Get(ctx, store.Key{Tenant: tenant, Space: store.Originals, ID: id})
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, store.ErrNotFound):
			r.lose(x, "output %d: the store has nothing behind its marker", j)
		case err != nil:
			r.lose(x, "output %d: %v", j, err)
		case string(kept) != original:
			r.lose(x, "output %d: its marker leads to another text", j)
		}
	}
	return nil
}
