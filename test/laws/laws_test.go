package laws_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// The laws, by name.
const (
	lawRead       = "read"       // a request of a real shape is read, not passed through
	lawJSON       = "json"       // what is sent is JSON
	lawPrefix     = "prefix"     // the messages of a turn begin those of the next
	lawUnseen     = "unseen"     // nothing is hidden for its age before a horizon lies behind it
	lawSame       = "same"       // any replica, memo and neighbour gives the same bytes
	lawKeys       = "keys"       // another service key decides alike
	lawTenants    = "tenants"    // any tenant gets the same bytes
	lawRestore    = "restore"    // markers give the client's text back
	lawEquivalent = "equivalent" // what has no marker says the same
	lawOutside    = "outside"    // outside of tool outputs every byte is the client's
	lawPrivate    = "private"    // a marker opens for its own tenant only
	lawAgain      = "again"      // what was rewritten is not rewritten again
	lawSmaller    = "smaller"    // an edit saves tokens, marker and hint included
	lawView       = "view"       // a view leaves out what its notes say
	lawErrors     = "errors"     // no error is left out in silence
	lawCounts     = "counts"     // the report's figures are those of what was sent
	lawDialects   = "dialects"   // one conversation gets one answer in every dialect
)

// checkPrefix holds a turn and a later one to the prefix law. What stands in
// front of the messages is the client's own, which lawOutside judges.
func checkPrefix(client, later, sent, sentLater []byte) error {
	var arrays [4][]byte
	for i, body := range [][]byte{client, later, sent, sentLater} {
		messages, _, err := list(body)
		if err != nil {
			return err
		}
		arrays[i] = messages
	}
	if bytes.HasPrefix(arrays[1], arrays[0]) {
		if !bytes.HasPrefix(arrays[3], arrays[2]) {
			return errors.New("the messages of the turn do not begin those of the next: " + parting(arrays[2], arrays[3]))
		}
		return nil
	}
	// The client itself changed its spelling or moved its cache directives.
	for i, messages := range arrays {
		var err error
		if arrays[i], err = canonical(messages); err != nil {
			return err
		}
	}
	if !bytes.HasPrefix(arrays[1], arrays[0]) {
		return errors.New("the client's own turns do not continue each other: " + parting(arrays[0], arrays[1]))
	}
	if !bytes.HasPrefix(arrays[3], arrays[2]) {
		return errors.New("apart from what the client changed, the messages of the turn do not begin those of the next: " + parting(arrays[2], arrays[3]))
	}
	return nil
}

// finding is a broken law.
type finding struct {
	law string
	err error
}

// judgeEdits holds the edits of one request to the laws about single edits.
// original reads an original back, count counts tokens.
func judgeEdits(edits []edit, where map[string]*place, made []claim, original func(id string) (string, error), count func(string) int) (found []finding) {
	for i := range edits {
		e := &edits[i]
		add := func(law string, err error) {
			if err != nil {
				found = append(found, finding{law, fmt.Errorf("%s: %w", e.path, err)})
			}
		}
		if e.place == nil {
			add(lawOutside, errors.New("edited, and no tool output"))
			continue
		}
		if isExpand(e.place.tool) {
			add(lawOutside, fmt.Errorf("edited, and what a model asked %s for", e.place.tool))
		}
		if before, after := count(e.client), count(e.sent); after >= before {
			add(lawSmaller, fmt.Errorf("%d tokens became %d", before, after))
		}
		if len(e.ids) == 0 && e.plainly {
			continue
		}
		if len(e.ids) == 0 {
			add(lawEquivalent, saysTheSame(made, e.client, e.sent))
			if sameTables(e.client, e.sent) != nil {
				add(lawErrors, errorsShown(e.client, e.sent))
			}
			continue
		}
		if e.place.isError && !e.plainly { // at a horizon it may be superseded
			add(lawErrors, failedShown(e, count))
		}
		if len(e.ids) > 1 {
			add(lawRestore, fmt.Errorf("%d markers", len(e.ids)))
		}
		for _, id := range e.ids {
			text, err := original(id)
			if err == nil && text != e.client {
				err = fmt.Errorf("the original behind %s is not the client's text: %s", id, parting(e.client, text))
			}
			add(lawRestore, err)
		}
		if !e.plainly {
			judgeView(e, where, made, add)
		}
	}
	return found
}

// failedShown checks that a failed call lost text only if it is huge, and then
// none of its errors.
func failedShown(e *edit, count func(string) int) error {
	if count(e.client) < pipeline.HugeErrorTokens {
		return errors.New("a failed call lost text")
	}
	shown := plain(e.sent)
	for line := range strings.Lines(e.client) {
		const head = 100
		line = plain(line)
		if line = strings.TrimSpace(line[:min(len(line), head)]); pipelinetest.ErrorLine(line) && !strings.Contains(shown, line) {
			return fmt.Errorf("a huge failed call lost the error %.160q", line)
		}
	}
	return nil
}

// judgeView holds a view to what it says about itself.
func judgeView(e *edit, where map[string]*place, made []claim, add func(law string, err error)) {
	if client, sent, ok := inString(e.client, e.sent); ok && !itemsNote.MatchString(e.sent) {
		in := *e
		in.client, in.sent = client, sent
		judgeView(&in, where, made, add)
		return
	}
	view := splitLines(e.sent)
	last := view[len(view)-1]
	switch {
	case pointerNote.MatchString(e.sent):
		add(lawView, pointsBack(e, where, made))
	case leftOutNote.MatchString(last) && !strings.HasSuffix(e.client, last):
		add(lawErrors, errorsShown(e.client, e.sent))
		add(lawView, countsAdd(e.client, e.sent))
	case itemsNote.MatchString(e.sent):
		add(lawView, itemsCover(e.client, e.sent))
	case unnumbered(gaps(e.client, view)):
		add(lawView, tableCovers(e.client, e.sent))
	default:
		add(lawView, viewCovers(e.client, e.sent))
		add(lawErrors, errorsShown(e.client, e.sent))
	}
}

// inString returns the strings in which two documents differ, if both are JSON
// and those are all they differ in.
func inString(client, sent string) (before, after string, ok bool) {
	a, err := flatten(client)
	if err != nil {
		return "", "", false
	}
	b, err := flatten(sent)
	if err != nil || len(a) != len(b) {
		return "", "", false
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		var alsoString bool
		if ok {
			return "", "", false
		}
		before, ok = strings.CutPrefix(a[i], "s")
		after, alsoString = strings.CutPrefix(b[i], "s")
		if !ok || !alsoString {
			return "", "", false
		}
	}
	return before, after, ok
}

func unnumbered(notes map[int]gap) bool {
	for _, g := range notes {
		if g == (gap{}) {
			return true
		}
	}
	return false
}

// pointsBack checks that an earlier tool output says what a pointer claims.
func pointsBack(e *edit, where map[string]*place, made []claim) error {
	for _, p := range where {
		if p.order >= e.place.order {
			continue
		}
		if text, ok := exactText(p.original); ok && (text == e.client || saysTheSame(made, text, e.client) == nil || saysTheSame(made, e.client, text) == nil) {
			return nil
		}
	}
	return errors.New("no earlier tool output is the same")
}

// countsAdd checks that a view which counts what it leaves out counts all of
// it: with that added it has as many lines as the text. It cannot tell when the
// client's text has lines that look like the notes in the view.
func countsAdd(client, sent string) error {
	own := map[string]bool{}
	total := 0
	for line := range strings.Lines(client) {
		total++
		own[strings.TrimRight(line, "\r\n")] = true
	}
	written, repeated := 0, 0
	view := splitLines(sent)
	for _, line := range view[:len(view)-1] {
		switch m := repeatNote.FindStringSubmatch(line); {
		case m == nil:
			written++
		case own[strings.TrimRight(line, "\r\n")]:
			return nil
		default:
			repeated += max(1, number(m[1])) * (number(m[2]) - 1)
		}
	}
	note := view[len(view)-1]
	for _, m := range leftOutCounts.FindAllStringSubmatch(note, -1) {
		written += number(m[1])
		if m[2] == "repeated" {
			repeated -= number(m[1])
		}
	}
	if written != total || repeated != 0 {
		return fmt.Errorf("with what it left out it has %d lines, the text %d, and %d repetitions are not in its notes: %.120q", written, total, -repeated, note)
	}
	return nil
}

// isExpand recognises the tool that reads an original back by the end of its
// name, whatever a client puts in front.
func isExpand(tool string) bool {
	front, ok := strings.CutSuffix(tool, "context_guru_expand")
	return ok && (front == "" || strings.ContainsAny(front[len(front)-1:], "_./:-"))
}
