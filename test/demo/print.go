package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
	"github.com/contextguru/contextguru/test/stack/otlp"
)

const (
	// tailLines and tailWidth bound what is shown of a rewritten output.
	tailLines = 3
	tailWidth = 110
	// exportWait is far longer than the service takes to export a span.
	exportWait = 15 * time.Second
)

// printer writes the report. Styles are for terminals only.
type printer struct {
	out    io.Writer
	styled bool
}

func newPrinter(out *os.File) *printer {
	info, err := out.Stat()
	tty := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &printer{out: out, styled: tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (p *printer) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

func (p *printer) style(code, text string) string {
	if !p.styled {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) title(format string, args ...any) {
	p.printf("\n%s\n", p.style("1", fmt.Sprintf(format, args...)))
}

func (p *printer) alert(format string, args ...any) {
	p.printf("%s\n", p.style("1;31", fmt.Sprintf(format, args...)))
}

// report prints one turn.
func (d *demo) report(last turn, edits []chat.Edit, size pair, replica int) {
	via := ""
	if replica > 0 {
		via = fmt.Sprintf(", replica %d", replica)
	}
	what := "the question"
	if last.next != "" {
		what = "$ " + last.next
	}
	d.p.printf("turn %d%s  %s\n", d.turns, via, d.p.style("36", what))
	d.p.printf("  request      %s\n", change(size.bytesBefore, size.bytesAfter, "bytes"))
	if size.tokensBefore == 0 {
		return
	}
	d.p.printf("  tool outputs %s\n", change(size.tokensBefore, size.tokensAfter, "tokens"))
	for _, edit := range slices.Backward(edits) {
		if edit.Client == last.output {
			lines := strings.Split(strings.TrimRight(edit.Sent, "\n"), "\n")
			d.p.printf("  its output is now %s and ends:\n", plural(len(lines), "line"))
			for _, line := range tail(lines, edit.IDs) {
				d.p.printf("  %s\n", d.p.style("2", "| "+line))
			}
			return
		}
	}
	d.p.printf("  its output goes out as it is\n")
}

// tail returns the last lines of a text, cut to a width. When the marker stands
// further up, its line comes first.
func tail(lines, ids []string) []string {
	from := max(0, len(lines)-tailLines)
	shown := slices.Clone(lines[from:])
	for i := from - 1; i >= 0; i-- {
		if len(ids) > 0 && strings.Contains(lines[i], ids[0]) {
			shown = append([]string{lines[i]}, shown...)
			if i+1 < from {
				shown = slices.Insert(shown, 1, "...")
			}
			break
		}
	}
	for i, line := range shown {
		shown[i] = clip(line)
	}
	return shown
}

// clip makes a line fit for a terminal.
func clip(line string) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' ' // a tool's control characters are not for this terminal
		}
		return r
	}, line)
	runes := []rune(line)
	if len(runes) <= tailWidth {
		return line
	}
	// Both ends: a marker stands at the end of a long line.
	return string(runes[:tailWidth/2-1]) + " ... " + string(runes[len(runes)-tailWidth/2+4:])
}

// finish prints what is true of the whole run and returns the number of failed checks.
func (d *demo) finish(ctx context.Context, redis bool) (failed int) {
	d.expansion(ctx)
	d.p.title("All %d turns", d.turns)
	d.p.printf("  requests     %s\n", change(d.totals.bytesBefore, d.totals.bytesAfter, "bytes"))
	d.p.printf("  tool outputs %s, each output counted as often as it was sent\n", change(d.totals.tokensBefore, d.totals.tokensAfter, "tokens"))
	d.check("tokens were saved", positive(d.totals.tokensBefore-d.totals.tokensAfter))
	d.check("the service counts the same tokens in GET /stats", d.compareStats(ctx))
	if redis {
		keys, err := d.s.Redis.Keys(ctx, "cg:*")
		if err == nil {
			d.p.printf("  Redis holds  %s\n", plural(len(keys), "value"))
			err = positive(len(keys))
		}
		d.check("originals are in Redis", err)
	}
	d.lookNext(ctx)
	for _, c := range d.checks {
		if c.err != nil {
			failed++
		}
	}
	return failed
}

func positive(n int) error {
	if n <= 0 {
		return fmt.Errorf("%d", n)
	}
	return nil
}

// expansion reads one original back and compares it with what the command printed.
func (d *demo) expansion(ctx context.Context) {
	d.p.title("One original read back through Envoy")
	if d.best.id == "" {
		d.check("an output was replaced by a marker", errors.New("none was"))
		return
	}
	delete(d.restored, d.best.id) // asked for once more, whatever was read before
	text, err := d.original(ctx, d.best.dialect, d.best.id)
	if err == nil && text != d.best.output {
		err = fmt.Errorf("%d bytes that differ from the %d bytes it printed", len(text), len(d.best.output))
	}
	d.p.printf("  GET %s%s%s\n", d.s.URL(), expandPath, d.best.id)
	if err == nil {
		d.p.printf("  %s bytes, equal byte for byte to what %q printed\n", group(len(text)), d.best.command)
	}
	d.check("the original equals what the command printed", err)
}

// compareStats checks the service's own count against ours, over all replicas.
// A request that was sent to both replicas counts twice there.
func (d *demo) compareStats(ctx context.Context) error {
	var sum stack.BeforeAfter
	for _, service := range d.s.Services {
		stats, err := service.Stats(ctx)
		if err != nil {
			return err
		}
		sum.Before += stats.Totals.TokensSent.Before
		sum.After += stats.Totals.TokensSent.After
	}
	want := stack.BeforeAfter{Before: int64(d.replicas * d.totals.tokensBefore), After: int64(d.replicas * d.totals.tokensAfter)}
	if sum != want {
		return fmt.Errorf("%d → %d there, %d → %d here", sum.Before, sum.After, want.Before, want.After)
	}
	return nil
}

// lookNext prints where an operator would look, with a sample of each.
func (d *demo) lookNext(ctx context.Context) {
	d.p.title("Where to look next")
	service := d.s.Service()
	stats, err := service.Stats(ctx)
	d.check("GET /stats answers", err)
	d.p.printf("  %s/stats     what acted and what did not:", service.URL())
	for _, c := range stats.Components {
		d.p.printf(" %s %d/%d", c.Component, c.Acts, c.Acts+c.Passthrough)
	}
	metrics, err := service.Get(ctx, "/metrics")
	d.check("GET /metrics answers", err)
	series := 0
	for line := range strings.Lines(string(metrics)) {
		if strings.HasPrefix(line, "contextguru_") {
			series++
		}
	}
	d.p.printf("\n  %s/metrics   %d series for Prometheus, the same over OTLP\n", service.URL(), series)
	brief, cancel := context.WithTimeout(ctx, exportWait)
	defer cancel()
	span, err := d.s.OTLP.WaitSpan(brief, func(s otlp.Span) bool {
		n, ok := s.Attributes["contextguru.tokens.before"].(int64)
		return ok && n > 0
	})
	d.check("a span per exchange arrives over OTLP", err)
	if err == nil {
		d.p.printf("  spans over OTLP                  %s: model %v, tokens %v → %v, %v, took %s\n", span.Name, span.Attributes["gen_ai.request.model"],
			span.Attributes["contextguru.tokens.before"], span.Attributes["contextguru.tokens.after"], span.Attributes["contextguru.verdict"],
			span.End.Sub(span.Start).Round(10_000))
	}
	d.p.printf("  go run ./test/demo -keep         leaves it all running for you to look around\n")
}

// change prints a size before and after.
func change(before, after int, unit string) string {
	if before == after {
		return fmt.Sprintf("%9s %s, unchanged", group(before), unit)
	}
	return fmt.Sprintf("%9s → %7s %s (%+.1f %%)", group(before), group(after), unit, 100*float64(after-before)/float64(max(1, before)))
}

// group writes a number with commas between thousands.
func group(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
