package hop_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
)

func keyring(tb testing.TB, ids ...string) *pipeline.Keyring {
	tb.Helper()
	var keys []pipeline.Key
	for _, id := range ids {
		keys = append(keys, pipeline.Key{ID: id, Secret: []byte("secret of the key " + id)})
	}
	ring, err := pipeline.NewKeyring(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

func request() hop.Request {
	return hop.Request{Method: "POST", Path: "/v1/messages?beta=true", Authority: "gw.example:443", Tenants: []string{"t"}}
}

// clock is a signer's time, which a test moves.
type clock struct{ at time.Time }

func signer(tb testing.TB, c *clock, ids ...string) *hop.Signer {
	tb.Helper()
	return &hop.Signer{Keys: keyring(tb, ids...), Now: func() time.Time { return c.at }}
}

func sign(tb testing.TB, s *hop.Signer, r hop.Request, depth int) string {
	tb.Helper()
	value, err := s.Sign(r, depth)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

func TestSignedIsValid(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	s := signer(t, c, "a")
	for depth := 1; depth <= hop.MaxDepth; depth++ {
		value := sign(t, s, request(), depth)
		if got, err := s.Verify(request(), value); err != nil || got != depth {
			t.Errorf("depth %d: %d, %v for %s", depth, got, err, value)
		}
	}
	if a, b := sign(t, s, request(), 1), sign(t, s, request(), 1); a == b {
		t.Error("two values are the same:", a)
	}
	for _, depth := range []int{-1, 0, hop.MaxDepth + 1} {
		if value, err := s.Sign(request(), depth); err == nil {
			t.Errorf("depth %d: %s", depth, value)
		}
	}
}

// Another request's value, and one that somebody has changed, are forged.
func TestForged(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	s := signer(t, c, "a")
	value := sign(t, s, request(), 1)
	others := map[string]func(*hop.Request){
		"method":    func(r *hop.Request) { r.Method = "PUT" },
		"path":      func(r *hop.Request) { r.Path = "/v1/messages" },
		"authority": func(r *hop.Request) { r.Authority = "gw.example" },
		"tenant":    func(r *hop.Request) { r.Tenants = []string{"u"} },
		"no tenant": func(r *hop.Request) { r.Tenants = nil },
		"moved": func(r *hop.Request) { // the same letters, cut elsewhere
			r.Path, r.Authority = r.Path+r.Authority[:1], r.Authority[1:]
		},
	}
	for name, change := range others {
		r := request()
		change(&r)
		if _, err := s.Verify(r, value); !errors.Is(err, hop.ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := signer(t, c, "b").Verify(request(), value); !errors.Is(err, hop.ErrForged) {
		t.Errorf("another service's key: %v", err)
	}
	for i := range value {
		for _, letter := range "0123456789abcxyz." {
			changed := value[:i] + string(letter) + value[i+1:]
			if changed == value {
				continue
			}
			if _, err := s.Verify(request(), changed); !errors.Is(err, hop.ErrForged) && !errors.Is(err, hop.ErrMalformed) {
				t.Fatalf("%s: %v", changed, err)
			}
		}
	}
	if _, err := s.Verify(request(), value[:len(value)-1]); !errors.Is(err, hop.ErrForged) {
		t.Errorf("a letter short: %v", err)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	s := signer(t, c, "a")
	value := sign(t, s, request(), 1)
	for _, bad := range []string{
		"", ".", "....", "1", value + "," + value, value + strings.Repeat("a", 200),
		strings.Replace(value, "1.1.", "2.1.", 1), strings.Replace(value, "1.1.", "1.01.", 1),
		strings.Replace(value, "1.1.", "1.0.", 1), strings.Replace(value, "1.1.", "1.-1.", 1), " " + value,
		strings.Replace(value, "1.1.", "1.1.+", 1), strings.Replace(value, "1.1.", "1.10.", 1),
	} {
		if _, err := s.Verify(request(), bad); !errors.Is(err, hop.ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestExpires(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	s := signer(t, c, "a")
	s.Lifetime = 10 * time.Second
	value := sign(t, s, request(), 1)
	for after, want := range map[time.Duration]error{0: nil, 9 * time.Second: nil, 10 * time.Second: hop.ErrExpired, time.Hour: hop.ErrExpired} {
		c.at = time.Unix(1_700_000_000, 0).Add(after)
		if _, err := s.Verify(request(), value); !errors.Is(err, want) {
			t.Errorf("after %v: %v, want %v", after, err, want)
		}
	}
}

// While keys rotate, replicas have them in different orders, or not all of them,
// and know a tenant by different names.
func TestRotation(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	before, after := signer(t, c, "a", "b"), signer(t, c, "b", "a")
	r, turned := request(), request()
	r.Tenants, turned.Tenants = []string{"by a", "by b"}, []string{"by b", "by a"}
	for _, pair := range []struct {
		from, to     *hop.Signer
		asked, given hop.Request
		want         error
	}{
		{before, after, r, turned, nil},
		{after, before, turned, r, nil},
		{signer(t, c, "a"), after, hop.Request{Tenants: []string{"by a"}}, hop.Request{Tenants: turned.Tenants}, nil},
		{after, signer(t, c, "a"), turned, r, hop.ErrForged},
		{signer(t, c, "c"), after, r, r, hop.ErrForged},
	} {
		value := sign(t, pair.from, pair.asked, 1)
		if _, err := pair.to.Verify(pair.given, value); !errors.Is(err, pair.want) {
			t.Errorf("%v: %v, want %v", pair.given, err, pair.want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	s := signer(f, c, "a", "b")
	value := sign(f, s, request(), 1)
	f.Add(value, "POST", "/v1/messages?beta=true", "gw.example:443", "t")
	f.Add("1.1.1700000060.aaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaa", "POST", "/", "", "")
	f.Add("1.1.99999999999999999999.a.a", "", "", "", "")
	f.Fuzz(func(t *testing.T, given, method, path, authority, tenant string) {
		r := hop.Request{Method: method, Path: path, Authority: authority, Tenants: []string{tenant}}
		ours := method == "POST" && path == request().Path && authority == request().Authority && tenant == "t"
		if depth, err := s.Verify(r, given); err == nil && (!ours || depth != 1) {
			t.Errorf("%q is good for %+v", given, r)
		}
		if own := sign(t, s, r, 2); len(own) > 128 {
			t.Errorf("a value of %d bytes", len(own))
		} else if depth, err := s.Verify(r, own); err != nil || depth != 2 {
			t.Errorf("%q is not valid: %v", own, err)
		}
	})
}
