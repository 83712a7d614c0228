package models

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// few is a map of ten models with windows.
func few(t *testing.T, window int) *Map {
	t.Helper()
	var lines []string
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("p/m%d\tp\t%d\t-\t1", i, window))
	}
	return parsed(t, lines...)
}

// provider serves whatever document it is given, with an ETag.
type provider struct {
	mu       sync.Mutex
	body     []byte
	etag     string
	status   int
	requests int
	matched  []string // the If-None-Match of each request
}

func (p *provider) serve(body []byte, etag string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.body, p.etag, p.status = body, etag, status
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	p.matched = append(p.matched, r.Header.Get("If-None-Match"))
	if p.etag != "" {
		w.Header().Set("ETag", p.etag)
		if r.Header.Get("If-None-Match") == p.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(p.status)
	w.Write(p.body) //nolint:errcheck // a client that hung up is a case
}

func refresher(t *testing.T, held *Map, config RefreshConfig) *Refresher {
	t.Helper()
	r, err := NewRefresher(held, config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRefreshAdoptsAndRefuses(t *testing.T) {
	t.Parallel()
	p := &provider{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	held, next := few(t, 100), few(t, 200)
	var log bytes.Buffer
	r := refresher(t, held, RefreshConfig{
		URL: server.URL + "/map.json?token=secret", MaxBytes: 4096, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if r.Current() != held {
		t.Fatal("the map given is not the one held")
	}
	windowless := bytes.ReplaceAll(document(next), []byte("max_input_tokens"), []byte("max_inputs"))
	dirty := bytes.Replace(document(few(t, 300)), []byte("{"), []byte(`{"odd":1,`), 1)
	for _, step := range []struct {
		what    string
		body    []byte
		etag    string
		status  int
		changed bool
		err     string
		stats   RefreshStats
		window  int
	}{
		{"the same entries", document(held), "", 200, false, "", RefreshStats{Unchanged: 1}, 100},
		{"new windows", document(next), `"a"`, 200, true, "", RefreshStats{Adopted: 1, Unchanged: 1}, 200},
		{"the same ETag", []byte("ignored"), `"a"`, 200, false, "", RefreshStats{Adopted: 1, Unchanged: 2}, 200},
		{"a server error", nil, "", 503, false, "status 503, want 200", RefreshStats{Adopted: 1, Unchanged: 2, Failed: 1}, 200},
		{"a page", []byte("<html>"), `"b"`, 200, false, "document refused", RefreshStats{Adopted: 1, Unchanged: 2, Failed: 1, Refused: 1}, 200},
		{
			"four models of ten", document(newMap(next.models[:4])), `"c"`, 200, false, "4 models with 4 windows, 10 with 10 are held",
			RefreshStats{Adopted: 1, Unchanged: 2, Failed: 1, Refused: 2},
			200,
		},
		{"no windows", windowless, `"d"`, 200, false, "10 models with 0 windows", RefreshStats{Adopted: 1, Unchanged: 2, Failed: 1, Refused: 3}, 200},
		{
			"too large", bytes.Repeat([]byte(" "), 4097), `"e"`, 200, false, "more than 4096 bytes",
			RefreshStats{Adopted: 1, Unchanged: 2, Failed: 2, Refused: 3},
			200,
		},
		{"one odd entry", dirty, `"f"`, 200, true, "", RefreshStats{Adopted: 2, Unchanged: 2, Failed: 2, Refused: 3, Faults: 1}, 300},
	} {
		p.serve(step.body, step.etag, step.status)
		changed, err := r.Refresh(t.Context())
		if changed != step.changed || (err == nil) != (step.err == "") || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("%s: got %t and %v, want %t and %q", step.what, changed, err, step.changed, step.err)
		}
		if got := r.Stats(); got != step.stats {
			t.Errorf("%s: got %+v, want %+v", step.what, got, step.stats)
		}
		if x, _ := r.Current().Find("m3"); x.Window != step.window {
			t.Errorf("%s: the window is %d, want %d", step.what, x.Window, step.window)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the query: %v", step.what, err)
		}
	}
	if got := fmt.Sprintf("%q", p.matched); got != `["" "" "\"a\"" "\"a\"" "\"a\"" "\"a\"" "\"a\"" "\"a\"" "\"a\""]` {
		t.Errorf("the requests had If-None-Match %s", got)
	}
	if text := log.String(); strings.Count(text, "model map replaced") != 2 || strings.Count(text, "level=WARN") != 5 || strings.Contains(text, "secret") {
		t.Errorf("log:\n%s", text)
	}
	if x, _ := held.Find("m3"); x.Window != 100 {
		t.Errorf("the map that was held changed: %d", x.Window)
	}
}

// TestRefreshTakesSmallMapsWhenTold lets an operator serve a list of their own.
func TestRefreshTakesSmallMapsWhenTold(t *testing.T) {
	t.Parallel()
	own := parsed(t, "own/model\town\t5000\t-\t1")
	server := httptest.NewServer(&provider{body: document(own), status: 200})
	t.Cleanup(server.Close)
	for _, held := range []*Map{few(t, 100), few(t, 0)} {
		for least, want := range map[int]bool{0: false, 1: true, 2: false} {
			r := refresher(t, held, RefreshConfig{URL: server.URL, MinModels: least})
			if changed, err := r.Refresh(t.Context()); changed != want || (err == nil) != want {
				t.Errorf("at least %d, %d windows held: got %t, %v", least, held.windows(), changed, err)
			}
		}
	}
}

// TestRefreshBoundsWhatCompressionHides serves a document that never ends, a
// thousand times smaller on the wire.
func TestRefreshBoundsWhatCompressionHides(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for r.Context().Err() == nil {
			if _, err := z.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	r := refresher(t, few(t, 100), RefreshConfig{URL: server.URL})
	if _, err := r.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 8388608 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestRefreshDownServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	r := refresher(t, few(t, 100), RefreshConfig{URL: server.URL + "/?key=secret"})
	if _, err := r.Refresh(t.Context()); err == nil || strings.Contains(err.Error(), "secret") || r.Stats().Failed != 1 {
		t.Errorf("got %v, %+v", err, r.Stats())
	}
}

// transport hands requests to a function, so that no network is in the way of
// the fake clock.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(p http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result()
}

// TestRunFollowsTheClock watches a day of refreshes.
func TestRunFollowsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{body: document(few(t, 200)), etag: `"x"`, status: 200}
		var at []time.Time
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			return answer(p, r), nil
		})}
		r := refresher(t, few(t, 100), RefreshConfig{URL: "https://example.com/map", Client: client})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		begin := time.Now()
		go func() {
			defer close(done)
			r.Run(ctx)
		}()
		time.Sleep(24 * time.Hour)
		cancel()
		<-done
		if len(at) < 4 || len(at) > 5 {
			t.Fatalf("%d refreshes in a day", len(at))
		}
		if first := at[0].Sub(begin); first > time.Minute {
			t.Errorf("the first refresh came after %v", first)
		}
		same := 0
		for i := 1; i < len(at); i++ {
			gap := at[i].Sub(at[i-1])
			if gap < 6*time.Hour*9/10 || gap > 6*time.Hour*11/10 {
				t.Errorf("refresh %d came after %v", i, gap)
			}
			if gap == 6*time.Hour {
				same++
			}
		}
		if same == len(at)-1 {
			t.Error("the interval does not vary")
		}
		if got := r.Stats(); got.Adopted != 1 || got.Unchanged != uint64(len(at)-1) {
			t.Errorf("got %+v", got)
		}
	})
}

// TestRunRetriesSooner sees failures come at growing distances, up to the interval.
func TestRunRetriesSooner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		client := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			return nil, errors.New("no route")
		})}
		r := refresher(t, few(t, 100), RefreshConfig{URL: "https://example.com/map", Interval: 10 * time.Minute, Client: client})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r.Run(ctx)
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
			if gap := at[i+1].Sub(at[i]); gap < want*9/10 || gap > want*11/10 {
				t.Errorf("retry %d came after %v, want about %v", i, gap, want)
			}
		}
		if got := r.Stats().Failed; got != uint64(len(at)) {
			t.Errorf("%d of %d failures counted", got, len(at))
		}
	})
}

// TestRefreshTimesOut stalls, and asks for the map meanwhile.
func TestRefreshTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		held := few(t, 100)
		r := refresher(t, held, RefreshConfig{URL: "https://example.com/map", Client: client})
		begin := time.Now()
		done := make(chan error)
		go func() {
			_, err := r.Refresh(t.Context())
			done <- err
		}()
		synctest.Wait()
		if r.Current() != held || time.Since(begin) != 0 {
			t.Error("the map was not there at once")
		}
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != DefaultRefreshTimeout {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}

// TestRefreshIsShared has many callers at once: one request, one result.
func TestRefreshIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{body: document(few(t, 200)), status: 200}
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answer(p, r), nil
		})}
		r := refresher(t, few(t, 100), RefreshConfig{URL: "https://example.com/map", Client: client})
		var changed atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if ok, err := r.Refresh(t.Context()); ok && err == nil {
					changed.Add(1)
				}
			})
		}
		all.Wait()
		if p.requests != 1 || changed.Load() != 20 {
			t.Errorf("%d requests, %d callers heard of the new map", p.requests, changed.Load())
		}
	})
}

// TestRefreshOutlivesItsCaller lets the caller that began a refresh give up:
// the one that waited makes its own.
func TestRefreshOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{body: document(few(t, 200)), status: 200}
		var calls atomic.Int32
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if calls.Add(1) == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return answer(p, r), nil
		})}
		r := refresher(t, few(t, 100), RefreshConfig{URL: "https://example.com/map", Client: client})
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := r.Refresh(ctx)
			first <- err
		}()
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		go func() {
			_, err := r.Refresh(t.Context())
			second <- err
		}()
		third := make(chan error, 1)
		go func() {
			_, err := r.Refresh(gone)
			third <- err
		}()
		synctest.Wait()
		leave()
		if err := <-third; !errors.Is(err, context.Canceled) {
			t.Errorf("who stopped waiting: %v", err)
		}
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up: %v", err)
		}
		if err := <-second; err != nil || calls.Load() != 2 || r.Stats().Adopted != 1 {
			t.Errorf("who waited: %v after %d calls, %+v", err, calls.Load(), r.Stats())
		}
	})
}

func TestRefreshIsOffByDefault(t *testing.T) {
	t.Parallel()
	held := few(t, 100)
	r := refresher(t, held, RefreshConfig{})
	r.Run(t.Context()) // returns
	if _, err := r.Refresh(t.Context()); err == nil || r.Current() != held || r.Stats() != (RefreshStats{}) {
		t.Errorf("got %v, %+v", err, r.Stats())
	}
}

func TestNewRefresherRefuses(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]RefreshConfig{
		`got "file:///etc/passwd"`:    {URL: "file:///etc/passwd"},
		`got "https:"`:                {URL: "https:"},
		`got "(not a URL)"`:           {URL: "http://[::1"},
		`got "ftp://example.com/map"`: {URL: "ftp://user:password@example.com/map?key=secret"},
		"interval -1s":                {Interval: -time.Second},
		"timeout -1s":                 {Timeout: -time.Second},
		"size -1":                     {MaxBytes: -1},
		"models -1":                   {MinModels: -1},
	} {
		if r, err := NewRefresher(few(t, 1), config); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", config, err, want)
		}
	}
	if _, err := NewRefresher(nil, RefreshConfig{}); err == nil {
		t.Error("no map to begin with, and no error")
	}
}
