package hidden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/turns"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Errors of [Keeper.Record] beside the store's.
var (
	// ErrTooLarge says that the record would exceed its bound.
	ErrTooLarge = errors.New("hidden rounds are too large to record")
	// ErrNameless says that nothing of the turn names it, or that nobody owns it.
	ErrNameless = errors.New("hidden rounds have no name to be recorded under")
)

// Round is a round that the client saw as a part of the next one.
type Round struct {
	Turn    *round.Turn
	Results []round.Result
}

// Exchange is what was said in one visible turn.
type Exchange struct {
	Dialect wire.Dialect
	// Tenants are the names of the owner, as in [Request].
	Tenants []string
	// Place is that of the request.
	Place Place
	// Hidden are the rounds before the last one.
	Hidden []Round
	// Last is the round that ended the turn.
	Last *round.Turn
	// Beside answers the calls of ours in Last that the client did not get,
	// in the order of the calls.
	Beside []round.Result
}

// Record keeps the hidden rounds of a turn, so that Restore finds them in the
// next request. There is nothing to record for a turn without any. It should be
// called before the client can have the last event of the turn. When the store
// fails this process still remembers the record.
func (k *Keeper) Record(ctx context.Context, x Exchange) error {
	if len(x.Hidden)+len(x.Beside) == 0 {
		return nil
	}
	var rec record
	var visible []piece
	for i := range x.Hidden {
		h, pieces, err := hide(x.Dialect, &x.Hidden[i])
		if err != nil {
			return err
		}
		rec.rounds, visible = append(rec.rounds, h), append(visible, pieces...)
	}
	last, besides, err := besideOf(&x)
	if err != nil {
		return err
	}
	rec.beside = besides
	e := essenceOf(x.Dialect, append(visible, last...))
	names := e.names(x.Place.root, x.Place.context, x.Place.isTaken)
	if len(names) == 0 || len(x.Tenants) == 0 {
		return ErrNameless
	}
	data := rec.encode()
	if len(data) > k.c.Most {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), k.c.Most)
	}
	return k.put(ctx, x.Tenants, names, data)
}

// hide returns the record of a hidden round and its visible pieces.
func hide(d wire.Dialect, h *Round) (hiddenRound, []piece, error) {
	exchange, err := turns.Exchange(nil, d, h.Turn.Assistant, h.Results)
	if err != nil {
		return hiddenRound{}, nil, fmt.Errorf("record hidden rounds: %w", err)
	}
	t, _, ok := spoken(d, h.Turn.Assistant)
	if !ok {
		return hiddenRound{}, nil, fmt.Errorf("record hidden rounds: %w", turns.ErrTurn)
	}
	out := hiddenRound{exchange: exchange}
	var visible []piece
	var text strings.Builder
	for _, p := range t.pieces {
		switch {
		case p.kind == kindCall && p.name == pipeline.ExpandTool:
			continue
		case p.kind == kindText:
			text.WriteString(p.text)
		case p.kind == kindOther:
			out.others++
		}
		if p.signature != [16]byte{} {
			out.signatures = append(out.signatures, p.signature)
		}
		visible = append(visible, p)
	}
	out.length, out.sum = text.Len(), sumOf(text.String())
	return out, visible, nil
}

// spoken reads a turn in the form that a request takes it.
func spoken(d wire.Dialect, assistant []byte) (said, *reader, bool) {
	r := &reader{dialect: d}
	r.body = assistant
	whole := pipeline.Span{End: len(assistant)}
	if len(assistant) == 0 {
		return said{}, nil, false
	}
	elements := []wire.Element{{Span: whole, Assistant: true}}
	if d == wire.OpenAIResponses {
		items, ok := r.items(whole)
		if !ok || len(items) == 0 {
			return said{}, nil, false
		}
		elements = elements[:0]
		for _, item := range items {
			elements = append(elements, wire.Element{Span: item, Assistant: true})
		}
	}
	t, ok := r.turn(elements)
	return t, r, ok
}

// besideOf returns the visible pieces of the last round, and the calls of ours in it.
func besideOf(x *Exchange) (visible []piece, besides []besideCall, err error) {
	t, r, ok := spoken(x.Dialect, x.Last.Assistant)
	if !ok {
		if len(x.Beside) > 0 {
			return nil, nil, fmt.Errorf("record hidden rounds: %w", turns.ErrTurn)
		}
		return fallback(x.Last), nil, nil
	}
	results := map[int]*round.Result{}
	for i := range x.Beside {
		results[x.Beside[i].Call.Index] = &x.Beside[i]
	}
	index, calls := 0, 0
	for _, p := range t.pieces {
		if p.kind == kindCall {
			result := results[index]
			index++
			if result != nil && p.name == pipeline.ExpandTool {
				besides = append(besides, besideCall{
					calls: calls, call: append([]byte(nil), r.value(p.at)...), result: turns.Result(nil, x.Dialect, result),
				})
				continue
			}
			calls++
		}
		visible = append(visible, p)
	}
	if len(besides) != len(x.Beside) {
		return nil, nil, fmt.Errorf("record hidden rounds: %w: %d results for %d calls", turns.ErrTurn, len(x.Beside), len(besides))
	}
	return visible, besides, nil
}

// fallback makes pieces of a turn that could not be put together. Its calls
// have reached the client, ours as well.
func fallback(t *round.Turn) []piece {
	pieces := []piece{{kind: kindText, text: t.Text}}
	for _, s := range t.Signatures {
		pieces = append(pieces, piece{kind: kindSigned, signature: digest(s)})
	}
	calls := slices.Concat(t.Ours, t.Others)
	slices.SortStableFunc(calls, func(a, b round.Call) int { return a.Index - b.Index })
	for i := range calls {
		pieces = append(pieces, piece{kind: kindCall, id: calls[i].ID, name: calls[i].Name})
	}
	return pieces
}
