package expand

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// noteHeader tells which part of the original an answer is.
const noteHeader = "X-Context-Guru-Note"

// retryAfter is how many seconds a caller should wait for a store that is
// unavailable: its breaker probes about once a second.
const retryAfter = "1"

// Reply is an answer that any transport can send. To HEAD it sends everything
// but the body.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Answer answers a request for an original. query is the raw query of the
// request's URL; tenants are the caller's names as [TenantOf] gives them.
//
//   - 200: the text. A selection that came out short ends with a line in
//     brackets that says why.
//   - 404 "not found": everything that is not readable for this caller,
//     whatever the reason, so that an id can only be probed by its owner.
//   - 400: the original is readable and the selector is not.
//   - 405: neither GET nor HEAD. 503: the store cannot answer now.
func Answer(ctx context.Context, r *Resolver, tenants []string, method, query string) Reply {
	if method != http.MethodGet && method != http.MethodHead {
		reply := plain(http.StatusMethodNotAllowed, "method not allowed\n")
		reply.Header.Set("Allow", "GET, HEAD")
		return reply
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		err = &SelectorError{Param: "query", Problem: "must be percent-encoded, with & between parameters"}
	}
	q, selectorErr := ParseQuery(values)
	original, resolveErr := r.Resolve(ctx, tenants, q.ID)
	switch {
	case errors.Is(resolveErr, ErrUnknown):
		return plain(http.StatusNotFound, "not found\n")
	case resolveErr != nil:
		return unavailable()
	}
	if err := errors.Join(err, selectorErr); err != nil {
		return plain(http.StatusBadRequest, err.Error()+"\n")
	}
	s, err := Select(ctx, original, q)
	var selector *SelectorError
	switch {
	case errors.As(err, &selector):
		return plain(http.StatusBadRequest, err.Error()+"\n")
	case err != nil:
		return unavailable()
	}
	reply := plain(http.StatusOK, s.String())
	if s.Note != "" {
		reply.Header.Set(noteHeader, s.Note)
	}
	return reply
}

func unavailable() Reply {
	reply := plain(http.StatusServiceUnavailable, "originals are unavailable\n")
	reply.Header.Set("Retry-After", retryAfter)
	return reply
}

func plain(status int, body string) Reply {
	return Reply{
		Status: status,
		Header: http.Header{
			"Content-Type":           {"text/plain; charset=utf-8"},
			"Cache-Control":          {"no-store"},
			"X-Content-Type-Options": {"nosniff"},
		},
		Body: []byte(body),
	}
}

// Handler serves originals over HTTP. tenantsOf names the caller.
func Handler(r *Resolver, tenantsOf func(http.Header) []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		reply := Answer(req.Context(), r, tenantsOf(req.Header), req.Method, req.URL.RawQuery)
		maps.Copy(w.Header(), reply.Header)
		w.Header().Set("Content-Length", strconv.Itoa(len(reply.Body)))
		w.WriteHeader(reply.Status)
		if req.Method != http.MethodHead {
			_, _ = w.Write(reply.Body) // the caller may be gone; there is nobody else to tell
		}
	})
}
