// Package cacheinject marks a request for the prompt cache of a provider that
// caches what is marked, for clients that do not mark themselves.
//
// # How such a provider caches
//
// A mark says: keep all that the model reads up to here (tools, then system, then
// messages). The next request finds it if it is the same up to the same place and
// a mark of its own stands there, or at most 20 blocks behind it. Reading costs a
// tenth of a fresh token, writing a quarter more than one, or with 1h twice one. What is shorter than a
// model's least length, 1024 to 4096 tokens, is not kept, and its mark costs nothing. A
// mark in front of another costs nothing either: what both cover is written once.
//
// # Where the marks go
//
//   - At the end of the newest turn: everything is in the cache when the next
//     request comes. A mark in front of the newest turn, which is where one is put
//     that shall stand in a stable prefix, leaves each turn to be billed in full
//     twice, once as fresh input and once as a write.
//   - At the end of the request before: where that one wrote. The 20 blocks
//     would do for most turns; ten calls at once and their results are more.
//   - In the middle: at the end of the newest turn whose number is a power of two
//     and at most half of the newest turn's. It is read when what came later has
//     changed: at a planned break, or when the client goes back. It was the newest
//     end once, so it was written, and stays in place for as many turns as there
//     were up to it.
//   - At the head: behind system and tools, which other conversations share.
//
// Places that coincide are marked once, so there are four at most, the most a
// request may carry. All have the same lifetime, so their order does not matter.
// Only messages of the user are marked: they come back as they were sent, and
// thinking cannot be marked. Where a message cannot hold a mark, because its
// content is one string, the place in front of it is taken.
//
// # When there are none
//
// A client that sets one mark, wherever and however, is left to it. So is a
// conversation the provider holds itself. A provider that caches by itself needs
// none. A request without tools gets none unless it is a further one of a
// conversation without tools: it may be asked once only, and writing would make
// it dearer; and with outputs of tools in it, it is a summary or a title of a
// conversation whose cache it cannot read, since tools come first.
//
// A mark changes nothing that the model reads. What it saves is in the provider's
// bill and not in this service's counts of tokens.
package cacheinject

import (
	"context"
	"fmt"

	"github.com/contextguru/contextguru/pipeline"
)

// Reasons to set no mark.
const (
	reasonNoMarks  pipeline.Reason = "not_by_marks" // the provider does not go by marks, or not with this model
	reasonMarked   pipeline.Reason = "client_marks" // the client marks itself
	reasonOnce     pipeline.Reason = "asked_once"   // nothing tells that another request will read it
	reasonNoPlaces pipeline.Reason = "no_place"     // only strings, which cannot hold a mark
)

// Config is the settings of cacheinject.
type Config struct {
	// TTL is how long the provider keeps what is marked: 5m, or 1h where writing is
	// dearer and the model has it.
	TTL string `json:"ttl"`
}

// Validate implements pipeline.Validator.
func (c Config) Validate() error {
	if c.TTL == "5m" || c.TTL == "1h" {
		return nil
	}
	return &pipeline.FieldError{Field: "ttl", Problem: fmt.Sprintf("must be 5m or 1h, got %q", c.TTL)}
}

// Spec describes the component.
func Spec() pipeline.Spec {
	return pipeline.DefineRequest(pipeline.Meta{
		Name:    "cacheinject",
		Kind:    pipeline.KindReformat,
		Summary: "Marks the request for the provider's prompt cache where the client does not.",
	}, Config{TTL: "5m"}, func(c Config, _ pipeline.Deps) (pipeline.RequestComponent, error) {
		if c.TTL == "1h" {
			return injector{pipeline.TTL1h}, nil
		}
		return injector{pipeline.TTL5m}, nil
	})
}

type injector struct{ ttl pipeline.TTL }

// Apply implements pipeline.RequestComponent.
func (in injector) Apply(_ context.Context, v pipeline.View) ([]pipeline.Edit, error) {
	c := v.Caching()
	if c == nil {
		return decline(reasonNoMarks), nil
	}
	if v.Marks() > 0 {
		return decline(reasonMarked), nil
	}
	turn := v.Turn()
	if (turn == 0 || v.Size() > 0) && !c.Tools() {
		return decline(reasonOnce), nil
	}
	var edits []pipeline.Edit
	var taken [4]pipeline.Place
	add := func(at pipeline.Place, ok bool) {
		for _, other := range taken[:len(edits)] {
			ok = ok && other != at
		}
		if ok {
			taken[len(edits)] = at
			edits = append(edits, pipeline.Annotate(at, in.ttl))
		}
	}
	add(c.End(turn))
	if turn > 0 {
		add(c.End(turn - 1))
	}
	if at := middle(turn); at > 0 {
		add(c.End(at))
	}
	add(c.Head())
	if len(edits) == 0 {
		return decline(reasonNoPlaces), nil
	}
	return edits, nil
}

// middle is the greatest power of two that is at most half of a turn's number,
// or 0.
func middle(turn int) int {
	at := 1
	for at <= turn/4 {
		at *= 2
	}
	if at > turn/2 {
		return 0
	}
	return at
}

func decline(why pipeline.Reason) []pipeline.Edit { return []pipeline.Edit{pipeline.Decline(why)} }
