package live

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/cmd/context-guru/internal/plan"
	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
	"github.com/contextguru/contextguru/pipeline/rewrite"
	"github.com/contextguru/contextguru/store"
)

// rig is a Live on a configuration file, and what it logs.
type rig struct {
	*Live

	file   string
	log    strings.Builder
	reload chan os.Signal
	stop   func()
}

const external = "expand: {resolver: external}\n"

// launch starts a Live on a file; change may alter it before it runs.
func launch(t *testing.T, shared store.Store, text string, change ...func(*Live)) *rig {
	t.Helper()
	r := &rig{file: filepath.Join(t.TempDir(), "cg.yaml"), reload: make(chan os.Signal)}
	r.write(t, text)
	catalog, err := pipeline.NewCatalog(components.All())
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(r.file, catalog)
	if err != nil {
		t.Fatal(err)
	}
	maker, err := plan.NewMaker(pipelinetest.Keys(t), pipeline.NewMemo(0))
	if err != nil {
		t.Fatal(err)
	}
	r.Live, err = New(Options{Config: c, File: r.file, Catalog: catalog, Maker: maker, Store: shared, Log: slog.New(slog.NewTextHandler(&r.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(r.Live)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx, r.reload) }()
	r.stop = func() { cancel(); <-done }
	t.Cleanup(r.stop)
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask returns the components of a conversation's next request.
func (r *rig) ask(t *testing.T, conversation string, turn int) string {
	t.Helper()
	body := []byte(conversation)
	p, _ := r.Choose(t.Context(), rewrite.Choice{Model: "gpt-5", Tenant: "t", Transcript: &pipeline.Transcript{
		Body: body, Turn: turn, Opening: [2]pipeline.Span{{}, {End: len(body)}}, Preamble: slices.Values([]string{conversation}),
	}})
	synctest.Wait()
	var names []string
	for _, s := range p.Steps() {
		names = append(names, s.Name+string(s.Config))
	}
	return strings.Join(names, " ")
}

func memory(t *testing.T) store.Store {
	t.Helper()
	s, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noticed is long enough for a change of the file to be in force.
const noticed = 10 * time.Second

// TestFileChanges edits the file while conversations are under way.
func TestFileChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := launch(t, memory(t), external+"pipeline: [format]\n")
		format := r.ask(t, "a", 0)
		if !strings.HasPrefix(format, "format") {
			t.Fatalf("a begins with %s", format)
		}
		want := func(when, conversation, want string) {
			t.Helper()
			if got := r.ask(t, conversation, 1); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %s has %q, want %q\n%s", when, conversation, got, want, r.log.String())
			}
		}
		r.write(t, external+"pipeline: [dedup]\n")
		time.Sleep(noticed)
		want("changed", "a", format)
		want("changed", "b", "dedup")

		r.write(t, "pipeline: [nothing]\n")
		time.Sleep(noticed)
		want("at fault", "c", "dedup")
		if n := r.reloads.refused.Load(); n != 1 || !strings.Contains(r.log.String(), "config_refused") {
			t.Errorf("%d refused, log %s", n, r.log.String())
		}

		r.write(t, external+"pipeline: []\n")
		time.Sleep(noticed)
		want("switched off", "a", "")
		want("switched off", "d", "")
		r.write(t, external+"pipeline: [dedup]\nlisten: {http: '127.0.0.1:1'}\nexpand: {resolver: external, path: /elsewhere}\n")
		r.write(t, "expand: {resolver: external, path: /elsewhere}\npipeline: [dedup]\nlisten: {http: '127.0.0.1:1'}\n")
		time.Sleep(noticed)
		want("switched on", "a", format)
		want("switched on", "b", "dedup")
		want("switched on", "d", "") // began while it was off
		want("switched on", "e", "dedup")
		if !strings.Contains(r.log.String(), `keys="[listen expand]"`) {
			t.Errorf("nothing says what needs a restart: %s", r.log.String())
		}
		if s := r.manager.Stats(); s.Lost+s.Late+s.Unavailable+s.Unloaded != 3 { // b, c and e, of whom nobody knew in turn 1
			t.Errorf("stats %+v", s)
		}
	})
}

// TestHalfWrittenFile checks that a file is left alone while it is written.
func TestHalfWrittenFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := launch(t, memory(t), external+"pipeline: [format]\n")
		time.Sleep(lookEvery / 2)
		for i := range 5 {
			r.write(t, fmt.Sprint("# ", i, "\n"))
			time.Sleep(lookEvery)
		}
		r.write(t, external+"pipeline: [dedup]\n")
		time.Sleep(noticed)
		if n := r.reloads.adopted.Load(); n != 1 {
			t.Errorf("adopted %d times: %s", n, r.log.String())
		}
	})
}

// TestSymlinksAreFollowed swaps the folder behind the file, as Kubernetes does,
// and asks for the reload.
func TestSymlinksAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for name, pipeline := range map[string]string{"1": "[format]", "2": "[dedup]"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name, "cg.yaml"), []byte(external+"pipeline: "+pipeline+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := func(to string) {
			if err := os.Symlink(to, filepath.Join(dir, "new")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "data")); err != nil {
				t.Fatal(err)
			}
		}
		link("1")
		r := launch(t, memory(t), external+"pipeline: [format]\n", func(l *Live) { l.o.File = filepath.Join(dir, "data", "cg.yaml") })
		link("2")
		time.Sleep(noticed)
		if got := r.ask(t, "a", 0); !strings.HasPrefix(got, "dedup") {
			t.Errorf("got %s", got)
		}
		link("1")
		r.reload <- os.Interrupt // which one does not matter
		time.Sleep(3 * time.Second)
		if got := r.ask(t, "b", 0); !strings.HasPrefix(got, "format") || r.reloads.adopted.Load() != 2 {
			t.Errorf("got %s, adopted %d", got, r.reloads.adopted.Load())
		}
	})
}

// served answers every request with a document.
type served func() string

func (s served) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s()))}, nil
}

// TestNewerModels checks that a window that changes is one of new conversations
// only, and that a price that changes is no change.
func TestNewerModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var window, price atomic.Int64
		window.Store(100_000)
		price.Store(1)
		document := served(func() string {
			return fmt.Sprintf(`{"gpt-5":{"mode":"chat","litellm_provider":"openai","max_input_tokens":%d,"input_cost_per_token":%de-6}}`, window.Load(), price.Load())
		})
		r := launch(t, memory(t), external+"pipeline: [format]\n", func(l *Live) {
			held, faults := models.Load([]byte(document()))
			if held == nil {
				t.Fatal(faults)
			}
			var err error
			l.held = held
			l.refresh, err = models.NewRefresher(held, models.RefreshConfig{URL: "http://models.test", Client: &http.Client{Transport: document}})
			if err != nil {
				t.Fatal(err)
			}
		})
		pick := func(conversation string) *pipeline.Pipeline {
			body := []byte(conversation)
			p, _ := r.Choose(t.Context(), rewrite.Choice{Model: "gpt-5", Tenant: "t", Transcript: &pipeline.Transcript{
				Body: body, Opening: [2]pipeline.Span{{}, {End: len(body)}}, Preamble: slices.Values([]string{conversation}),
			}})
			return p
		}
		old := pick("a").Digest()
		id := r.manager.CurrentID()
		price.Store(2)
		time.Sleep(7 * time.Hour)
		if r.refresh.Stats().Adopted != 1 || r.manager.CurrentID() != id || pick("b").Digest() != old {
			t.Errorf("a price made a generation: %+v", r.refresh.Stats())
		}
		window.Store(200_000)
		time.Sleep(7 * time.Hour)
		if r.refresh.Stats().Adopted != 2 || r.manager.CurrentID() == id {
			t.Errorf("the window did not come: %+v", r.refresh.Stats())
		}
		if a, c := pick("a").Digest(), pick("c").Digest(); a != old || c == old {
			t.Errorf("a is as it was: %v; c is new: %v", a == old, c != old)
		}
	})
}

// TestOtherReplica checks that a replica serves the generation of another,
// rebuilt from the store, and that what it cannot build is counted.
func TestOtherReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory(t)
		a := launch(t, shared, external+"pipeline: [format, extract]\ncomponents: {extract: {min_tokens: 77, marker_mode: off}}\nallow_irreversible: true\ncache: {horizon_tokens: 0.5}\n")
		want := a.ask(t, "a", 0)
		digest := a.manager.Current().Choose(rewrite.Choice{Model: "gpt-5"}).Digest()
		b := launch(t, shared, external+"pipeline: [dedup]\n")
		if got := b.ask(t, "a", 1); got != want {
			t.Errorf("a has %s on b, want %s\n%s", got, want, b.log.String())
		}
		p := b.manager.For(t.Context(), "t", &pipeline.Transcript{Body: []byte("a"), Opening: [2]pipeline.Span{{}, {End: 1}}, Preamble: slices.Values([]string{"a"})})
		if got := p.Choose(rewrite.Choice{Model: "gpt-5"}).Digest(); got != digest {
			t.Error("the rebuilt pipeline has another digest")
		}
		if s := b.manager.Stats(); s.Other != 2 || s.Unloaded != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}
