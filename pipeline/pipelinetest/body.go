package pipelinetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/pipeline"
)

// Bodies is what the laws at body level need to know: how a request body is
// read, and how it is rewritten, by whatever route.
type Bodies struct {
	Parse   func(body []byte) (*pipeline.Transcript, error)
	Rewrite func(ctx context.Context, body []byte) ([]byte, error)
	// Planned, if set, reports whether a request's newest turn is a horizon, so
	// that its rewritten form may part from the one before.
	Planned func(request []byte) bool
}

// CheckPrefix checks that the rewritten message list of each request is a byte
// prefix of the next one's, wherever that holds for the client's own bytes,
// and likewise what stands in front of the list, planned breaks aside. It
// returns the rewritten requests, so that two replicas can be compared.
func (b Bodies) CheckPrefix(tb testing.TB, requests ...[]byte) [][]byte {
	tb.Helper()
	rewritten := make([][]byte, len(requests))
	for i, request := range requests {
		out, err := b.Rewrite(tb.Context(), slices.Clone(request))
		if err != nil {
			tb.Fatalf("rewrite request %d: %v", i+1, err)
		}
		rewritten[i] = out
		if i == 0 {
			continue
		}
		if !continues(tb, request, requests[i-1]) {
			tb.Fatalf("request %d does not continue request %d: there is nothing to check", i+1, i)
		}
		if !continues(tb, out, rewritten[i-1]) && (b.Planned == nil || !b.Planned(request)) {
			tb.Errorf("rewritten request %d does not begin with rewritten request %d: %s", i+1, i, parting(rewritten[i-1], out))
		}
	}
	return rewritten
}

// CheckRestore checks one rewritten request: every edited output either
// carries the marker of the client's text or is the same under the given
// check, and with the client's outputs put back it is the client's request,
// byte for byte. It returns how many outputs were edited.
func (b Bodies) CheckRestore(tb testing.TB, keys *pipeline.Keyring, same func(before, after string) error, request, rewritten []byte) (edited int) {
	tb.Helper()
	before, err := b.Parse(request)
	if err != nil {
		tb.Fatalf("parse the request: %v", err)
	}
	after, err := b.Parse(rewritten)
	if err != nil {
		tb.Fatalf("parse the rewritten request: %v", err)
	}
	if len(before.Segments) != len(after.Segments) {
		tb.Fatalf("%d outputs became %d", len(before.Segments), len(after.Segments))
	}
	var restored bytes.Buffer
	at := 0
	for i := range before.Segments {
		client, ours := before.Value(&before.Segments[i]), after.Value(&after.Segments[i])
		if !bytes.Equal(client, ours) {
			edited++
			if err := restores(before, after, i, keys, same); err != nil {
				tb.Errorf("output %d: %v", i, err)
			}
		}
		span := after.Segments[i].Span
		restored.Write(rewritten[at:span.Start])
		restored.Write(client)
		at = span.End
	}
	restored.Write(rewritten[at:])
	if !bytes.Equal(restored.Bytes(), request) {
		tb.Errorf("with the outputs put back it is not the client's request: %s", parting(request, restored.Bytes()))
	}
	return edited
}

// CheckIdempotent checks that a rewritten request is left as it is.
func (b Bodies) CheckIdempotent(tb testing.TB, request []byte) {
	tb.Helper()
	once, err := b.Rewrite(tb.Context(), slices.Clone(request))
	if err != nil {
		tb.Fatalf("rewrite: %v", err)
	}
	twice, err := b.Rewrite(tb.Context(), slices.Clone(once))
	if err != nil {
		tb.Fatalf("rewrite again: %v", err)
	}
	if !bytes.Equal(once, twice) {
		tb.Errorf("a rewritten request is rewritten again: %s", parting(once, twice))
	}
}

func restores(before, after *pipeline.Transcript, i int, keys *pipeline.Keyring, same func(before, after string) error) error {
	original, ok := before.Original(i)
	if !ok {
		return errors.New("edited although the client's text is not exact")
	}
	text, ok := after.Original(i)
	if !ok {
		return errors.New("its new text is not exact")
	}
	switch ids := slices.Collect(keys.Markers(text)); {
	case len(ids) > 1:
		return fmt.Errorf("it carries the markers %q", ids)
	case len(ids) == 0:
		return same(original, text)
	case !keys.Matches(ids[0], original):
		return fmt.Errorf("marker %q does not name the client's text", ids[0])
	default:
		return nil
	}
}

// Requests cuts a conversation's last request into all its requests: request t
// ends just in front of the t-th run of assistant messages. Every byte outside
// the list, and every byte between messages, stays.
func Requests(body []byte) ([][]byte, error) {
	list, err := findList(body)
	if err != nil {
		return nil, err
	}
	var requests [][]byte
	assistant := false
	for i, item := range list.items {
		was := assistant
		assistant = isAssistant(body[item.Start:item.End])
		if assistant && !was && i > 0 {
			requests = append(requests, slices.Concat(body[:list.items[i-1].End], body[list.span.End-1:]))
		}
	}
	if !assistant {
		requests = append(requests, slices.Clone(body))
	}
	return requests, nil
}

type messageList struct {
	span  pipeline.Span // brackets included
	items []pipeline.Span
}

// findList locates the message list of a request: messages, input or contents.
func findList(body []byte) (messageList, error) {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return messageList{}, fmt.Errorf("read request: %w", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return messageList{}, fmt.Errorf("read request: %w", err)
		}
		key := name.String()
		if (key != "messages" && key != "input" && key != "contents") || d.PeekKind() != '[' {
			if err := d.SkipValue(); err != nil {
				return messageList{}, fmt.Errorf("read %q of the request: %w", key, err)
			}
			continue
		}
		return readList(d)
	}
	return messageList{}, errors.New("the request has no list of messages")
}

func readList(d *jsontext.Decoder) (list messageList, err error) {
	if _, err = d.ReadToken(); err != nil {
		return list, fmt.Errorf("read message list: %w", err)
	}
	list.span.Start = int(d.InputOffset()) - 1
	for d.PeekKind() != ']' {
		item, err := d.ReadValue()
		if err != nil {
			return list, fmt.Errorf("read message %d: %w", len(list.items), err)
		}
		end := int(d.InputOffset())
		list.items = append(list.items, pipeline.Span{Start: end - len(item), End: end})
	}
	if _, err = d.ReadToken(); err != nil {
		return list, fmt.Errorf("read message list: %w", err)
	}
	list.span.End = int(d.InputOffset())
	return list, nil
}

// isAssistant reports whether a message was written by the model, in any of
// the forms providers use.
func isAssistant(message []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(message), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		text, _ := decode(value)
		switch {
		case key == "role" && (text == "assistant" || text == "model"),
			key == "type" && (text == "function_call" || text == "reasoning"):
			return true
		}
	}
	return false
}

// continues reports whether a request's bytes up to the end of its messages
// are a prefix of the next request's.
func continues(tb testing.TB, next, request []byte) bool {
	tb.Helper()
	list, err := findList(request)
	if err != nil {
		tb.Fatal(err)
	}
	end := list.span.Start + 1
	if n := len(list.items); n > 0 {
		end = list.items[n-1].End
	}
	return bytes.HasPrefix(next, request[:end])
}

// parting shows where two bodies part.
func parting(a, b []byte) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	const around = 60
	near := func(s []byte) []byte { return s[max(0, at-around):min(len(s), at+around)] }
	return fmt.Sprintf("they part at byte %d:\n%q\n%q", at, near(a), near(b))
}
