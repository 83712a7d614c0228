package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/round"
)

// What a model is told when it cannot have what it asked for. Each says what to
// do instead: a model that is only told no asks again.
const (
	textUnknown = "There is no text under the id %s: it was never issued, has expired or belongs to somebody else. " +
		"Run the command or tool again whose output it stood for."
	textNoID    = "No id was given. Copy it from the marker: <<cg:ID>>."
	textStop    = " Do not look up further ids; answer with what you have."
	textUnread  = "The text under the id %s cannot be read now. Run the command or tool again whose output it stood for."
	textBadPart = "%s. The id alone gives the whole text."
	textTooMany = "Too many lookups in one answer. Go on with what you have; the next turn may look up more."
	textAgain   = "[asked before in this turn; this is what follows]\n"
	textNoMore  = "This was given above already, to its end."
	textLast    = "\n[no further lookups are possible in this turn]"
)

// results answers calls, in their order. last says that the model gets no
// further round.
func (r *run) results(ctx context.Context, calls []round.Call, last bool) []round.Result {
	results := make([]round.Result, len(calls))
	for i, call := range calls {
		results[i] = r.result(ctx, call)
	}
	if last && len(results) > 0 {
		results[len(results)-1].Text += textLast
	}
	return results
}

func (r *run) result(ctx context.Context, call round.Call) round.Result {
	entry := Expand{Round: len(r.hidden) + 1}
	result := round.Result{Call: call, Error: true}
	if len(r.l.Expands) >= r.d.c.Calls {
		result.Text = textTooMany
	} else {
		entry.ID, result.Text, result.Error = r.lookUp(ctx, call.Arguments)
	}
	if entry.Missed = result.Error; entry.Missed {
		if r.missed++; r.missed >= misses {
			result.Text += textStop
		}
	}
	entry.Bytes = len(result.Text)
	if r.x.Tokens != nil {
		entry.Tokens = r.x.Tokens(result.Text)
	}
	if r.x.Component != nil && !entry.Missed {
		entry.Component = r.x.Component(entry.ID)
	}
	r.l.Expands = append(r.l.Expands, entry)
	return result
}

// lookUp returns what the model reads, and whether it is an error. An id is
// ours before it is called one in a ledger.
func (r *run) lookUp(ctx context.Context, arguments []byte) (id, text string, failed bool) {
	q, err := expand.ParseArguments(arguments)
	if q.ID == "" {
		return "", textNoID, true
	}
	resolver := expand.Resolver{Keys: r.d.c.Keys, Originals: expand.Requested{Text: r.x.Text, Others: r.d.c.Stored}}
	original, missing := resolver.Resolve(ctx, r.x.Request.Tenants, q.ID)
	switch {
	case errors.Is(missing, expand.ErrUnknown):
		return "", fmt.Sprintf(textUnknown, shown(q.ID)), true
	case missing != nil:
		return q.ID, fmt.Sprintf(textUnread, shown(q.ID)), true
	case err != nil:
		return q.ID, fmt.Sprintf(textBadPart, err), true
	}
	before := ""
	key := fmt.Sprintf("%+v", q)
	if times := r.asked[key]; times > 0 {
		if q.Grep != "" || q.Head > 0 || q.Tail > 0 {
			return q.ID, textNoMore, false
		}
		before, q.Skip = textAgain, q.Skip+times*r.d.c.Window
		if q.Lines == (expand.Range{}) && q.Skip >= len(original) {
			return q.ID, textNoMore, false
		}
	}
	r.asked[key]++
	part, err := expand.Window(ctx, original, q, r.d.c.Window)
	if before != "" && (err != nil || part.Text == "") {
		return q.ID, textNoMore, false
	}
	if err != nil {
		return q.ID, fmt.Sprintf(textBadPart, err), true
	}
	return q.ID, before + part.String(), false
}

// shown is an id as a model sent it, short and on one line.
func shown(id string) string {
	const most = 40
	if len(id) > most {
		id = strings.ToValidUTF8(id[:most], "") + "…"
	}
	return fmt.Sprintf("%q", id)
}
