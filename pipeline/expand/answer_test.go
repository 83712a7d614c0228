package expand

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/store"
)

// shelf is originals by tenant and id; reads counts how often it was asked.
type shelf struct {
	texts map[[2]string]string
	err   error
	reads int
}

func (s *shelf) Get(_ context.Context, tenant, id string) ([]byte, error) {
	s.reads++
	if s.err != nil {
		return nil, s.err
	}
	text, ok := s.texts[[2]string{tenant, id}]
	if !ok {
		return nil, ErrUnknown
	}
	return []byte(text), nil
}

func ring(tb testing.TB, names ...string) *pipeline.Keyring {
	tb.Helper()
	var keys []pipeline.Key
	for _, n := range names {
		keys = append(keys, pipeline.Key{ID: n, Secret: []byte(n + " 0123456789abcdef")})
	}
	r, err := pipeline.NewKeyring(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// flip changes one character of an id.
func flip(id string, at int) string {
	c := byte('a')
	if id[at] == c {
		c = 'b'
	}
	return id[:at] + string(c) + id[at+1:]
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k1")
	original := "one\r\ntwo\nthree <<cg:aaaaaaaaaaaaaaaaaaaa>>\n\x00"
	id := keys.Mint(original)
	foreign := ring(t, "other").Mint(original)
	wrong := keys.Mint("something else")
	texts := map[[2]string]string{{"me", id}: original, {"me", wrong}: original, {"me", foreign}: original, {"", id}: original}

	notFound := "not found\n"
	me := []string{"me"}
	for _, tc := range []struct {
		name    string
		tenants []string
		method  string
		query   string
		err     error
		status  int
		body    string
		reads   int
	}{
		{"whole", me, "GET", "id=" + id, nil, 200, original, 1},
		{"head method", me, "HEAD", "id=" + id, nil, 200, original, 1},
		{"old name", []string{"newer", "me"}, "GET", "id=" + id, nil, 200, original, 2},
		{"lines", me, "GET", "id=" + id + "&lines=2", nil, 200, "two\n", 1},
		{"suffix", me, "GET", "id=" + id + ":1-1", nil, 200, "one\r\n", 1},
		{"short", me, "GET", "id=" + id + "&lines=4-9", nil, 200, "\x00\n[lines 4-4 of 4]\n", 1},
		{"empty", me, "GET", "id=" + id + "&lines=9", nil, 200, "[no such lines: the text has 4 lines]\n", 1},
		{"other tenant", []string{"you"}, "GET", "id=" + id, nil, 404, notFound, 1},
		{"no tenant", nil, "GET", "id=" + id, nil, 404, notFound, 0},
		{"unknown", me, "GET", "id=" + keys.Mint("never stored"), nil, 404, notFound, 1},
		{"text does not match its id", me, "GET", "id=" + wrong, nil, 404, notFound, 1},
		{"foreign key", me, "GET", "id=" + foreign, nil, 404, notFound, 0},
		{"forged hash", me, "GET", "id=" + flip(id, 0), nil, 404, notFound, 0},
		{"forged tag", me, "GET", "id=" + flip(id, 19), nil, 404, notFound, 0},
		{"upper case", me, "GET", "id=" + strings.ToUpper(id), nil, 404, notFound, 0},
		{"long", me, "GET", "id=" + id + "x", nil, 404, notFound, 0},
		{"key injection", me, "GET", "id=" + url.QueryEscape("x}:o:"+id), nil, 404, notFound, 0},
		{"no id", me, "GET", "", nil, 404, notFound, 0},
		{"bad selector", me, "GET", "id=" + id + "&lines=x", nil, 400, "lines: must be lines counted from 1, such as 120-180, 120-, -50 or 7, got \"x\"\n", 1},
		{"bad pattern", me, "GET", "id=" + id + "&grep=[", nil, 400, "grep: must be a pattern in RE2 syntax: error parsing regexp: missing closing ]: `[`\n", 1},
		{"bad encoding", me, "GET", "id=" + id + "&lines=%zz", nil, 400, "query: must be percent-encoded, with & between parameters\n", 1},
		{"bad selector of another tenant", []string{"you"}, "GET", "id=" + id + "&lines=x", nil, 404, notFound, 1},
		{"bad selector of unknown", me, "GET", "id=nope&lines=x", nil, 404, notFound, 0},
		{"post", me, "POST", "id=" + id, nil, 405, "method not allowed\n", 0},
		{"down", me, "GET", "id=" + id, errors.New("down"), 503, "originals are unavailable\n", 1},
		{"down and not ours", me, "GET", "id=nope", errors.New("down"), 404, notFound, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{texts: texts, err: tc.err}
			got := Answer(t.Context(), &Resolver{Keys: keys, Originals: s}, tc.tenants, tc.method, tc.query)
			if got.Status != tc.status || string(got.Body) != tc.body || s.reads != tc.reads {
				t.Errorf("got %d %q after %d reads, want %d %q after %d", got.Status, got.Body, s.reads, tc.status, tc.body, tc.reads)
			}
			for name, want := range map[string]string{
				"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				"Allow":       map[bool]string{true: "GET, HEAD"}[tc.status == 405],
				"Retry-After": map[bool]string{true: "1"}[tc.status == 503],
			} {
				if got.Header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
				}
			}
		})
	}
}

// Nothing about an answer may tell one reason for "not found" from another.
func TestNotFoundIsOneAnswer(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k1")
	id := keys.Mint("text")
	r := &Resolver{Keys: keys, Originals: &shelf{texts: map[[2]string]string{{"me", id}: "text"}}}
	want := Answer(t.Context(), r, nil, "GET", "id="+id)
	for _, query := range []string{"id=" + id, "id=" + flip(id, 3), "id=" + keys.Mint("x"), "id=", "", "id=" + id + "&lines=x", "id=" + id + "&foo=1", "%zz"} {
		if diff := cmp.Diff(want, Answer(t.Context(), r, []string{"you"}, "GET", query)); diff != "" {
			t.Errorf("%q is answered differently:\n%s", query, diff)
		}
	}
	for _, id := range []string{"x", flip(id, 3), id} {
		if _, err := r.Resolve(t.Context(), []string{"you"}, id); err != ErrUnknown { //nolint:errorlint // the very error, with nothing wrapped around it
			t.Errorf("%s: error %v", id, err)
		}
	}
}

// An original stored before the key was rotated is found by the old name of
// the tenant, and by nobody else's.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, after := ring(t, "k1"), ring(t, "k2", "k1")
	get := func(name string) string { return map[string]string{"authorization": "Bearer abc"}[name] }
	memory, err := store.NewMemory(store.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	tenant, id := (TenantOf{Keys: before}).FromGateway(get)[0], before.Mint("original")
	item := store.Item{Key: store.Key{Tenant: tenant, Space: store.Originals, ID: id}, Value: []byte("original")}
	if err := memory.PutAll(t.Context(), []store.Item{item}); err != nil {
		t.Fatal(err)
	}
	r := &Resolver{Keys: after, Originals: Stored{memory}}
	if got, err := r.Resolve(t.Context(), (TenantOf{Keys: after}).FromGateway(get), id); got != "original" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	stranger := func(string) string { return "Bearer xyz" }
	if _, err := r.Resolve(t.Context(), (TenantOf{Keys: after}).FromGateway(stranger), id); !errors.Is(err, ErrUnknown) {
		t.Errorf("a stranger gets %v", err)
	}
	if err := memory.Close(); err != nil {
		t.Fatal(err)
	}
	if got := Answer(t.Context(), r, (TenantOf{Keys: after}).FromGateway(get), "GET", "id="+id); got.Status != http.StatusServiceUnavailable {
		t.Errorf("a closed store gives %d %q", got.Status, got.Body)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k1")
	original := strings.Repeat("a line of text\n", 1000)
	id := keys.Mint(original)
	tenants := TenantOf{Keys: keys}
	name := keys.Derive("tenant", "x-api-key\x00secret")[0]
	r := &Resolver{Keys: keys, Originals: &shelf{texts: map[[2]string]string{{name, id}: original}}}
	server := httptest.NewServer(Handler(r, func(h http.Header) []string { return tenants.FromPort(h.Get) }))
	defer server.Close()

	type answer struct {
		status int
		header http.Header
		length int64
		body   string
	}
	do := func(method, query, key string) answer {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/expand?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("X-Api-Key", key)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{resp.StatusCode, resp.Header, resp.ContentLength, string(body)}
	}
	if a := do("GET", "id="+id, "secret"); a.status != 200 || a.body != original {
		t.Errorf("GET: %d, %d bytes", a.status, len(a.body))
	}
	if a := do("HEAD", "id="+id, "secret"); a.status != 200 || a.body != "" || a.length != int64(len(original)) {
		t.Errorf("HEAD: %d, %d bytes, length %d", a.status, len(a.body), a.length)
	}
	if a := do("GET", "id="+id, "other"); a.status != 404 || a.body != "not found\n" {
		t.Errorf("other key: %d %q", a.status, a.body)
	}
	if a := do("DELETE", "id="+id, "secret"); a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: %d, allow %q", a.status, a.header.Get("Allow"))
	}
	note := "1 of 1000 matching lines; searched lines 1-1000 of 1000"
	if a := do("GET", "id="+id+"&grep=line&tail=1", "secret"); a.body != "998-a line of text\n999-a line of text\n1000:a line of text\n" ||
		a.header.Get(noteHeader) != note {
		t.Errorf("grep: %q, note %q", a.body, a.header.Get(noteHeader))
	}
}
