package fakellm

import "log/slog"

// defaultBodyLimit is the largest body kept unless an option says otherwise:
// above the 30 MB that gateways are usually asked to carry, below what a test
// that uploads without end could fill memory with.
const defaultBodyLimit = 64 << 20

// Option configures a [Server].
type Option func(*Server)

// WithScript gives the server its turns; see [Server.SetScript].
func WithScript(turns ...Turn) Option {
	return func(s *Server) { s.script.set(turns) }
}

// WithResponder lets a function answer. It is asked for every request that is
// not a WebSocket upgrade, before the script; a nil Turn leaves the request to
// the script. It is called concurrently.
func WithResponder(f func(*Request) *Turn) Option {
	return func(s *Server) { s.responder = f }
}

// WithObserver calls a function once per request when its answer has ended. It
// is called concurrently; [Server.Close] waits for it.
func WithObserver(f func(*Request, Reply)) Option {
	return func(s *Server) { s.observer = f }
}

// WithBodyLimit keeps bodies, received and sent, of at most n bytes; of longer
// ones only size and digest are kept. The default is 64 MiB.
func WithBodyLimit(n int64) Option {
	return func(s *Server) { s.bodyLimit = n }
}

// WithDigestsOnly keeps no body, only size and digest. Together with
// [WithHistory] it bounds memory for benchmarks.
func WithDigestsOnly() Option {
	return func(s *Server) { s.bodyLimit = -1 }
}

// WithHistory keeps only the newest n requests; 0 keeps all.
func WithHistory(n int) Option {
	return func(s *Server) { s.rec.history = n }
}

// WithLogger gives the server a logger for its HTTP errors. The default discards them.
func WithLogger(l *slog.Logger) Option {
	return func(s *Server) { s.log = l }
}
