package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of a RefreshConfig. LiteLLM's document had 3.5 MB in 2026 and
// changes a few times a day.
const (
	DefaultRefreshInterval = 6 * time.Hour
	DefaultRefreshTimeout  = 10 * time.Second
	DefaultRefreshBytes    = 8 << 20
)

// retryAfter is how long the first failed refresh waits for the next; every
// further one doubles it, up to the interval.
const retryAfter = time.Minute

// RefreshConfig says where a newer map comes from. The zero value refreshes
// never; zero fields take the defaults.
type RefreshConfig struct {
	// URL is where the document is, http or https. Empty means never.
	URL string
	// Interval is the time between refreshes; each one varies it by a tenth,
	// so that replicas that started together part.
	Interval time.Duration
	// Timeout bounds one refresh.
	Timeout time.Duration
	// MaxBytes bounds the document, after decompression.
	MaxBytes int64
	// MinModels is how many models, and how many known windows, a document
	// must have to be adopted. 0 means half of what is held.
	MinModels int
	// Client makes the requests; nil means a client of its own.
	Client *http.Client
	// Logger hears of new and of refused maps; nil means nobody does.
	Logger *slog.Logger
}

// RefreshStats counts what came of the refreshes.
type RefreshStats struct {
	// Adopted documents replaced the map.
	Adopted uint64
	// Unchanged documents were the same as the last, by their ETag or their text.
	Unchanged uint64
	// Failed requests brought no document: network, timeout, status, size.
	Failed uint64
	// Refused documents came and are not a map, or a much smaller one.
	Refused uint64
	// Faults is how many entries or fields the last document adopted had to leave out.
	Faults int
}

// errRefused marks a document that came and may not be used.
var errRefused = errors.New("document refused")

// Refresher holds a map and replaces it by newer ones. Whoever asks for the
// map gets the one it holds and never waits. It is safe for concurrent use.
type Refresher struct {
	config RefreshConfig
	held   atomic.Pointer[Map]

	mu     sync.Mutex
	flight *flight
	etag   string // of the last document that was no fault; only the flight touches it
	stats  RefreshStats
}

// flight is a refresh under way.
type flight struct {
	done    chan struct{}
	changed bool
	err     error
}

// NewRefresher returns a Refresher that holds the given map until Run or
// Refresh brings another.
func NewRefresher(held *Map, config RefreshConfig) (*Refresher, error) {
	if held == nil {
		return nil, errors.New("model map refresh: there is no map to begin with")
	}
	if config.URL != "" {
		u, err := url.Parse(config.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("model map refresh: want an http or https URL, got %q", withoutSecrets(config.URL))
		}
	}
	if config.Interval < 0 || config.Timeout < 0 || config.MaxBytes < 0 || config.MinModels < 0 {
		return nil, fmt.Errorf("model map refresh: interval %v, timeout %v, size %d and models %d must not be negative",
			config.Interval, config.Timeout, config.MaxBytes, config.MinModels)
	}
	config.Interval = orDefault(config.Interval, DefaultRefreshInterval)
	config.Timeout = orDefault(config.Timeout, DefaultRefreshTimeout)
	config.MaxBytes = orDefault(config.MaxBytes, DefaultRefreshBytes)
	if config.Client == nil {
		config.Client = &http.Client{}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Refresher{config: config}
	r.held.Store(held)
	return r, nil
}

func orDefault[T int64 | time.Duration](value, standard T) T {
	if value == 0 {
		return standard
	}
	return value
}

// Current returns the map held. It does not wait for a refresh.
func (r *Refresher) Current() *Map { return r.held.Load() }

// Stats returns the counts since the start.
func (r *Refresher) Stats() RefreshStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Run refreshes until ctx ends, first after a moment that differs between
// replicas, at most a minute. Without a URL it returns at once.
func (r *Refresher) Run(ctx context.Context) {
	if r.config.URL == "" {
		return
	}
	wait, failures := rand.N(min(r.config.Interval, time.Minute)), 0 //nolint:gosec // spreads load, keeps no secret
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = r.config.Interval
		if _, err := r.Refresh(ctx); err == nil {
			failures = 0
		} else {
			wait = min(wait, retryAfter<<min(failures, 16))
			failures++
		}
		wait += rand.N(max(wait/5, 1)) - wait/10 //nolint:gosec // spreads load, keeps no secret
	}
}

// Refresh fetches the document now and reports whether it replaced the map. A
// call while another is under way waits for that one and shares its result.
func (r *Refresher) Refresh(ctx context.Context) (changed bool, err error) {
	if r.config.URL == "" {
		return false, errors.New("model map refresh: no URL is configured")
	}
	for {
		r.mu.Lock()
		f := r.flight
		if f == nil {
			f = &flight{done: make(chan struct{})}
			r.flight = f
			r.mu.Unlock()
			r.fly(ctx, f)
			return f.changed, f.err
		}
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-f.done:
		}
		// A flight whose own caller gave up tells nothing; make another.
		if !errors.Is(f.err, context.Canceled) || ctx.Err() != nil {
			return f.changed, f.err
		}
	}
}

// fly makes one refresh and accounts for it.
func (r *Refresher) fly(ctx context.Context, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	next, faults, etag, err := r.fetch(ctx)
	if err != nil {
		f.err = fmt.Errorf("model map from %s: %w", withoutSecrets(r.config.URL), err)
	}
	f.changed = next != nil
	if f.changed {
		r.held.Store(next)
	}
	if etag != "" {
		r.etag = etag
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, errRefused):
		r.stats.Refused++
	case err != nil:
		r.stats.Failed++
	case next == nil:
		r.stats.Unchanged++
	default:
		r.stats.Adopted++
		r.stats.Faults = faults
	}
	switch {
	case err != nil:
		r.config.Logger.WarnContext(ctx, "model map refresh", slog.Any("error", f.err))
	case next != nil:
		r.config.Logger.InfoContext(ctx, "model map replaced", slog.Int("models", next.Len()), slog.Int("faults", faults))
	}
	r.flight = nil
	close(f.done)
}

// fetch returns the document's map, or none if it is the one held.
func (r *Refresher) fetch(ctx context.Context) (next *Map, faults int, etag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.config.URL, nil)
	if err != nil {
		return nil, 0, "", plain(err)
	}
	request.Header.Set("Accept", "application/json, text/plain")
	if r.etag != "" {
		request.Header.Set("If-None-Match", r.etag)
	}
	response, err := r.config.Client.Do(request)
	if err != nil {
		return nil, 0, "", plain(err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	switch {
	case response.StatusCode == http.StatusNotModified && r.etag != "":
		return nil, 0, "", nil
	case response.StatusCode != http.StatusOK:
		return nil, 0, "", fmt.Errorf("status %d, want 200", response.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, r.config.MaxBytes+1))
	if err != nil {
		return nil, 0, "", fmt.Errorf("read the document: %w", plain(err))
	}
	if int64(len(data)) > r.config.MaxBytes {
		return nil, 0, "", fmt.Errorf("the document has more than %d bytes", r.config.MaxBytes)
	}
	next, errs := Load(data)
	if next == nil {
		return nil, 0, "", fmt.Errorf("%w: %w", errRefused, errors.Join(errs...))
	}
	held := r.Current()
	if least := r.config.MinModels; next.Len() < orHalf(least, held.Len()) || next.windows() < orHalf(least, held.windows()) {
		return nil, 0, "", fmt.Errorf("%w: %d models with %d windows, %d with %d are held", errRefused,
			next.Len(), next.windows(), held.Len(), held.windows())
	}
	etag = response.Header.Get("ETag")
	if next.equal(held) {
		return nil, 0, etag, nil
	}
	return next, len(errs), etag, nil
}

// orHalf returns least, or half of what is held if that is not configured.
func orHalf(least, held int) int {
	if least > 0 {
		return least
	}
	return (held + 1) / 2
}

// equal reports whether two maps have the same entries.
func (m *Map) equal(o *Map) bool {
	if len(m.models) != len(o.models) {
		return false
	}
	for i := range m.models {
		if m.models[i] != o.models[i] {
			return false
		}
	}
	return true
}

// plain takes the URL out of a client's error: its query may hold a secret.
func plain(err error) error {
	if with, ok := errors.AsType[*url.Error](err); ok {
		return with.Err
	}
	return err
}

// withoutSecrets returns a URL without user and query.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
