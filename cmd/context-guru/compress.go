package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// compress shows what the service would make of one body.
func compress(ctx context.Context, e env, args []string) int {
	fs := flags("compress")
	file := fs.String("config", "", "configuration `FILE`; the defaults without one")
	path := fs.String("path", "/v1/chat/completions", "request `PATH`, which tells the API, such as /v1/messages, /v1/responses, /v1beta/models/NAME:generateContent or /model/NAME/converse")
	explained := fs.Bool("explain", false, "say on stderr what was done to each tool output, and why the rest was not")
	if code, done := e.parse(fs, args); done {
		return code
	}
	c, err := e.loadConfig(*file)
	if err != nil {
		_, _ = fmt.Fprintln(e.stderr, err)
		return exitFault
	}
	err = compressBody(ctx, compressInput{config: c, path: *path, explain: *explained, in: e.stdin, out: e.stdout, notes: e.stderr})
	if err != nil {
		e.complain("compress", "%v", err)
		return exitFault
	}
	return exitOK
}

// compressInput is what `compress` works on.
type compressInput struct {
	config  *config.Config
	path    string // request path, which names the dialect
	explain bool
	in      io.Reader
	out     io.Writer // the body
	notes   io.Writer // the explanation
}

// compressBody rewrites one body from the input and prints it, always: the
// client's own bytes when nothing can be done. The explanation goes to notes,
// so that the output stays a body.
func compressBody(ctx context.Context, c compressInput) error {
	dialect, ok := wire.Route(c.path)
	if !ok {
		return fmt.Errorf("-path %q is not a path of a known API; use for instance /v1/chat/completions or /v1/messages", c.path)
	}
	body, err := io.ReadAll(io.LimitReader(c.in, c.config.Limits.BodyBytes+1))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if int64(len(body)) > c.config.Limits.BodyBytes {
		return fmt.Errorf("the body is larger than limits.body_bytes (%d); raise it to rewrite this body", c.config.Limits.BodyBytes)
	}
	e, err := newEngine(c.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = e.store.Close() }()
	if err := e.rewriteAlone(c.config); err != nil {
		return err
	}
	reply := e.rewriter.Rewrite(ctx, rewrite.Request{Dialect: dialect, Body: body, Model: wire.ModelInPath(c.path), Aside: wire.Aside(c.path), Binary: wire.Binary(c.path), Tenant: "compress", Explain: c.explain})
	defer reply.Release()
	out := reply.Body
	if out == nil {
		out = body
	}
	if _, err := c.out.Write(out); err != nil {
		return fmt.Errorf("write the body: %w", err)
	}
	if r := &reply.Report; !c.explain && r.Verdict == rewrite.PassThrough {
		_, _ = fmt.Fprintf(c.notes, "context-guru compress: passed through unchanged: %s\n", r.Reason)
	}
	if c.explain {
		return explain(c.notes, &reply.Report)
	}
	return nil
}

// explain prints what was done to each tool output, and why the rest was not.
func explain(w io.Writer, r *rewrite.Report) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) }
	line("%s: %s %s", r.Dialect, r.Verdict, r.Reason)
	line("bytes\t%d → %d", r.BytesBefore, r.BytesAfter)
	line("tokens in tool outputs\t%d → %d%s", r.TokensBefore, r.TokensAfter, estimated(r.Estimated))
	if r.Lossless != "" {
		line("lossless edits only\t%s", r.Lossless)
	}
	if r.Tool != "" {
		line("expand tool\t%s, %d tokens; the conversation begins with %d", r.Tool, r.ToolTokens, r.Preamble)
	}
	for _, act := range r.Acts {
		if act.Acted {
			line("%s\tset %d cache marks", act.Component, r.Marks)
		} else {
			line("%s\tdeclined: %s", act.Component, act.Reason)
		}
	}
	for _, e := range r.Explained {
		line("")
		line("output %d (turn %d, tool %.100q)\t%d tokens%s", e.Index, e.Turn, e.Tool, e.Outcome.Original.N, estimated(e.Outcome.Original.Estimated))
		if e.Outcome.Reason != "" {
			line("  left alone\t%s", e.Outcome.Reason)
		}
		for _, act := range e.Outcome.Acts {
			switch {
			case act.Acted && act.Lossy:
				line("  %s\t%d → %d tokens, %s", act.Component, act.Before, act.After, kept(r, e.Outcome))
			case act.Acted:
				line("  %s\t%d → %d tokens, lossless", act.Component, act.Before, act.After)
			default:
				line("  %s\tdeclined: %s", act.Component, act.Reason)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the explanation: %w", err)
	}
	return nil
}

// kept says what became of the original of a lossy edit.
func kept(r *rewrite.Report, o *pipeline.Outcome) string {
	switch {
	case r.Lossless != "":
		return "not sent: lossless edits only"
	case o.Irreversible:
		return "original not kept: marker_mode off"
	case o.Lossy == nil:
		return "not sent"
	default:
		return "original kept as " + o.Lossy.ID
	}
}

func estimated(yes bool) string {
	if yes {
		return " (estimated)"
	}
	return ""
}
