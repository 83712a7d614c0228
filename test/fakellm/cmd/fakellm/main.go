// Command fakellm runs a scriptable stand-in for an LLM provider.
//
//	fakellm -addr 127.0.0.1:0 -script script.json -record requests/
//
// The first line on standard output is "listening on http://HOST:PORT". Every
// request is logged on standard error. With -record each exchange becomes
// three files, written when its answer has ended: NUMBER.json describes it,
// NUMBER.request and NUMBER.reply are the exact bodies, up to 64 MiB each. The
// command ends on SIGINT and SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/contextguru/contextguru/test/fakellm"
)

// history is how many requests stay in memory: none is ever read back.
const history = 1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fakellm:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakellm", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on; port 0 picks a free one")
	scriptFile := flags.String("script", "", "JSON file with the turns to answer")
	dir := flags.String("record", "", "directory to write every exchange to; made if missing")
	quiet := flags.Bool("quiet", false, "log errors only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q: want flags only", flags.Arg(0))
	}
	level := slog.LevelInfo
	if *quiet {
		level = slog.LevelError
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	opts := []fakellm.Option{
		fakellm.WithHistory(history), fakellm.WithLogger(log),
		fakellm.WithObserver(func(r *fakellm.Request, reply fakellm.Reply) { observe(log, *dir, r, reply) }),
	}
	if *scriptFile != "" {
		data, err := os.ReadFile(*scriptFile)
		if err != nil {
			return fmt.Errorf("script: %w", err)
		}
		turns, err := fakellm.ParseScript(*scriptFile, data)
		if err != nil {
			return fmt.Errorf("script: %w", err)
		}
		opts = append(opts, fakellm.WithScript(turns...))
	}
	if *dir == "" {
		opts = append(opts, fakellm.WithDigestsOnly())
	} else if err := os.MkdirAll(*dir, 0o700); err != nil { // records hold the client's credentials
		return fmt.Errorf("record: %w", err)
	}
	s := fakellm.New(opts...)
	url, err := s.Start(*addr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "listening on", url); err != nil {
		return errors.Join(fmt.Errorf("print the address: %w", err), s.Close())
	}
	<-ctx.Done()
	return s.Close()
}

// observe logs an exchange and records it if there is a directory.
func observe(log *slog.Logger, dir string, r *fakellm.Request, reply fakellm.Reply) {
	log.Info("exchange", "id", r.ID, "kind", r.Kind, "method", r.Method, "target", r.Target, "proto", r.Proto,
		"bytes", r.Size, "status", reply.Status, "reply_bytes", reply.Size, "turn", reply.Turn,
		"outcome", reply.Outcome, "took", reply.Finished.Sub(r.Received))
	if dir == "" {
		return
	}
	if err := record(dir, r, reply); err != nil {
		log.Error("record", "id", r.ID, "error", err)
	}
}

// description is the content of a record's JSON file.
type description struct {
	ID               int                 `json:"id"`
	Kind             fakellm.Kind        `json:"kind"`
	Method           string              `json:"method"`
	Host             string              `json:"host"`
	Target           string              `json:"target"`
	Proto            string              `json:"proto"`
	Remote           string              `json:"remote"`
	Received         string              `json:"received"`
	Header           map[string][]string `json:"header"`
	Trailer          map[string][]string `json:"trailer,omitzero"`
	TransferEncoding []string            `json:"transfer_encoding,omitzero"`
	ContentLength    int64               `json:"content_length"`
	Model            string              `json:"model,omitzero"`
	Stream           bool                `json:"stream"`
	Size             int64               `json:"size"`
	SHA256           string              `json:"sha256"`
	BodyError        string              `json:"body_error,omitzero"`
	Reply            replyDescription    `json:"reply"`
}

type replyDescription struct {
	Status   int             `json:"status"`
	Outcome  fakellm.Outcome `json:"outcome"`
	Turn     int             `json:"turn"`
	Size     int64           `json:"size"`
	SHA256   string          `json:"sha256"`
	Finished string          `json:"finished"`
}

// record writes the files of one exchange, the description last: a reader that
// sees it finds the bodies complete.
func record(dir string, r *fakellm.Request, reply fakellm.Reply) error {
	const stamp = "2006-01-02T15:04:05.000000Z07:00"
	js, err := json.Marshal(description{
		ID: r.ID, Kind: r.Kind, Method: r.Method, Host: r.Host, Target: r.Target, Proto: r.Proto, Remote: r.Remote,
		Received: r.Received.Format(stamp), Header: r.Header, Trailer: r.Trailer,
		TransferEncoding: r.TransferEncoding, ContentLength: r.ContentLength,
		Model: r.Model, Stream: r.Stream, Size: r.Size, SHA256: r.SHA256, BodyError: r.BodyError,
		Reply: replyDescription{
			Status: reply.Status, Outcome: reply.Outcome, Turn: reply.Turn,
			Size: reply.Size, SHA256: reply.SHA256, Finished: reply.Finished.Format(stamp),
		},
	}, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	name := filepath.Join(dir, fmt.Sprintf("%06d", r.ID))
	bodies := []struct {
		suffix string
		body   []byte
		size   int64
	}{{".request", r.Body, r.Size}, {".reply", reply.Body, reply.Size}}
	for _, b := range bodies {
		if int64(len(b.body)) != b.size {
			continue // too long to be kept: the digest has to do
		}
		if err := os.WriteFile(name+b.suffix, b.body, 0o600); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	// The rename makes the description appear whole or not at all.
	if err := os.WriteFile(name+".tmp", append(js, '\n'), 0o600); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Rename(name+".tmp", name+".json"); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
