package main

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// port is the HTTP port: health, metrics, statistics and expand.
type port struct {
	ready   *atomic.Bool // false before the listeners are up and during shutdown
	metrics http.Handler
	mode    string // told with the statistics: observed ones are projections
	stats   *rewrite.Stats
	store   func(context.Context) error
	expand  http.Handler
}

// storeProbe bounds how long /readyz asks the store.
const storeProbe = 200 * time.Millisecond

func (p *port) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", p.readyz)
	mux.Handle("GET /metrics", p.metrics)
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, struct {
			Mode string `json:"mode"`
			rewrite.Snapshot
		}{p.mode, p.stats.Snapshot()})
	})
	mux.Handle("/expand", p.expand)
	return mux
}

// readyz reports readiness. A store that is down is told and does not make the
// service unready: without it requests still get their lossless edits.
func (p *port) readyz(w http.ResponseWriter, r *http.Request) {
	if !p.ready.Load() {
		answer(w, http.StatusServiceUnavailable, map[string]string{"status": "not ready"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeProbe)
	defer cancel()
	state := "ok"
	if p.store(ctx) != nil {
		state = "unavailable"
	}
	answer(w, http.StatusOK, map[string]string{"status": "ok", "store": state})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client may be gone; there is nobody else to tell
}
