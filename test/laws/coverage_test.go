package laws_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/wire"
	"github.com/contextguru/contextguru/pipeline/wire/wiretest"
)

// kind is what the outputs of a coverage cell hold.
type kind struct {
	name string
	text func(turn, n int) string
	// lossless says that what makes it smaller leaves no marker.
	lossless bool
	// numbered says that it is made smaller below line numbers, too.
	numbered bool
}

func kinds() []kind {
	return []kind{
		{"document", indentedRows, true, false},
		{"log", repetitiveLog, false, true},
	}
}

// indentedRows is a document with white space to spare.
func indentedRows(turn, n int) string {
	var b strings.Builder
	b.WriteString("{\n    \"rows\": [\n")
	for i := range 12 {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "        {\n            \"id\": %d,\n            \"name\": \"row %d of %d\",\n            \"size\": %d.50\n        }", i, i*7, turn*10+n, i*31)
	}
	b.WriteString("\n    ]\n}")
	return b.String()
}

// repetitiveLog is a log most of whose lines say the same.
func repetitiveLog(turn, n int) string {
	var b strings.Builder
	for i := range 240 {
		fmt.Fprintf(&b, "2026-01-02T03:04:%02d INFO worker %d of run %d-%d: polled the queue, nothing to do\n", i%60, i%3, turn, n)
	}
	b.WriteString("done\n")
	return b.String()
}

// TestCoverage crosses every way to send results with every shape, wrapper and
// kind of them, and takes a conversation through each: every output is made
// smaller the first time it is seen, can be read back byte for byte, nothing
// beside it changes, and nothing that was sent changes afterwards.
func TestCoverage(t *testing.T) {
	t.Parallel()
	s := newSubject(t, parts{steps: steps(t, nil), horizon: 1 << 40}) // no output is old enough to be decided about again
	t.Cleanup(func() { _ = s.close() })
	keys, err := pipeline.NewKeyring(pipeline.Key{ID: "k1", Secret: []byte("a service key for the laws")})
	if err != nil {
		t.Fatal(err)
	}
	wrappers := append(wiretest.Wrappers(), wiretest.Wrapper{Name: "nothing", Wrap: func(text string) string { return text }})
	one, cells := s.start(usualMemo), 0
	for _, c := range wiretest.Columns() {
		for _, shape := range wiretest.Shapes() {
			if shape.Several && !c.Lists || shape.Fails && !c.Fails {
				continue
			}
			for _, w := range wrappers {
				for _, k := range kinds() {
					numbers := w.Name == "claude-code" || w.Name == "opencode"
					if numbers && !k.numbered || shape.Fails && !k.lossless {
						continue // nothing can be done without loss
					}
					if c.JSON && k.lossless && w.Name != "nothing" {
						continue // no client wraps a document and puts it into another
					}
					cells++
					t.Run(strings.Join([]string{c.Name, shape.Name, w.Name, k.name}, "/"), func(t *testing.T) {
						covers(t, s, one, keys, &c, func(turn int) []wiretest.Output {
							return shape.Make(turn, func(n int) string { return w.Wrap(k.text(turn, n)) })
						})
					})
				}
			}
		}
	}
	if cells < 1000 {
		t.Errorf("%d cells", cells)
	}
}

// covers takes one conversation through the product, turn by turn.
func covers(t *testing.T, s *subject, one *replica, keys *pipeline.Keyring, c *wiretest.Column, make func(turn int) []wiretest.Output) {
	t.Helper()
	dialect, ok := wire.Route(c.Path)
	if !ok || string(dialect) != c.Dialect {
		t.Fatalf("Route(%q) = %q, %v", c.Path, dialect, ok)
	}
	var turns [][]wiretest.Output
	earlier := c.Front
	for turn := 1; turn <= 3; turn++ {
		turns = append(turns, make(turn))
		body := []byte(c.Body(turns...))
		sent, report := one.rewrite(request{dialect, body, tenant})
		if !strings.HasPrefix(string(sent), earlier) {
			t.Fatalf("turn %d: what was sent changed:\n%s\ndoes not go on like\n%s", turn, sent, earlier)
		}
		earlier = strings.TrimSuffix(string(sent), c.Back)
		if report.Turn != turn {
			t.Fatalf("turn %d counted as %d in %s", turn, report.Turn, body)
		}
		readsBack(t, s, keys, dialect, body, sent)
	}
}

// readsBack checks that every output was made smaller, that markers lead to the
// client's text, and that with the client's outputs put back it is the client's
// body.
func readsBack(t *testing.T, s *subject, keys *pipeline.Keyring, dialect wire.Dialect, body, sent []byte) {
	t.Helper()
	before, errBefore := wire.NewParser(wire.Limits{}).Parse(dialect, body)
	after, errAfter := wire.NewParser(wire.Limits{}).Parse(dialect, sent)
	if errBefore != nil || errAfter != nil || len(before.Segments) != len(after.Segments) {
		t.Fatalf("%v, %v: %s\nbecame\n%s", errBefore, errAfter, body, sent)
	}
	var restored bytes.Buffer
	at := 0
	for i := range after.Segments {
		client, ours := before.Value(&before.Segments[i]), after.Value(&after.Segments[i])
		text, _ := after.Original(i)
		original, _ := before.Original(i)
		if len(ours) >= len(client) || s.count("m", text) >= s.count("m", original) {
			t.Errorf("output %d was not made smaller: %s", i, ours)
		}
		for id := range keys.Markers(text) {
			if got, err := s.original(tenant, id); err != nil || got != original {
				t.Errorf("output %d: its marker leads to %q, %v; want %q", i, got, err, original)
			}
		}
		span := after.Segments[i].Span
		restored.Write(sent[at:span.Start])
		restored.Write(client)
		at = span.End
	}
	restored.Write(sent[at:])
	if !bytes.Equal(restored.Bytes(), body) {
		t.Errorf("with the outputs put back:\n%s\nwant\n%s", restored.Bytes(), body)
	}
}
