package e2e

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

const expandPath = "/context-guru/expand"

// TestExpandSelects reads a large original back, whole and in parts, through
// Envoy and on the service's own port.
func TestExpandSelects(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(externalSole))
	needsMarkers(t, s)
	// 5 MB whose lines tell their own number.
	var b strings.Builder
	for i := 1; b.Len() < 5_000_000; i++ {
		fmt.Fprintf(&b, "line %06d: all work and no play makes shard %d a dull shard, %x\n", i, i%17, i*2654435761)
	}
	b.WriteString("the last line has no end ⌛")
	text := b.String()
	body := question(t, chat.Anthropic, text)
	_, got := exchange(t, s, stack.Call{Path: messagesPath, Body: body})
	edits := restored(t, s, body, got.Body)
	if markers(edits) != 1 {
		t.Fatalf("%d markers, want 1", markers(edits))
	}
	id := edits[0].IDs[0]
	lines := strings.SplitAfter(text, "\n")
	matching := func(pattern string) (found []string) {
		re := regexp.MustCompile(pattern)
		for _, line := range lines {
			if re.MatchString(strings.TrimSuffix(line, "\n")) {
				found = append(found, line)
			}
		}
		return found
	}
	all := matching("shard 3 ")
	for query, want := range map[string]string{
		"id=" + id: text, "id=" + url.QueryEscape("<<cg:"+id+">>"): text,
		"id=" + id + "&lines=120-180": strings.Join(lines[119:180], ""), "id=" + id + ":120-180": strings.Join(lines[119:180], ""),
		"id=" + id + "&lines=7": lines[6], "id=" + id + "&lines=-2": lines[0] + lines[1],
		fmt.Sprintf("id=%s&lines=%d-", id, len(lines)): lines[len(lines)-1],
		"id=" + id + "&head=3":                         strings.Join(lines[:3], ""), "id=" + id + "&tail=2": strings.Join(lines[len(lines)-2:], ""),
	} {
		for place, reply := range bothDoors(t, s, http.MethodGet, query, nil) {
			if reply.Status != 200 || string(reply.Body) != want {
				t.Errorf("%s %s: status %d, %d bytes, want %d", place, query, reply.Status, len(reply.Body), len(want))
			}
			if length := reply.Header.Get("Content-Length"); length != strconv.Itoa(len(want)) {
				t.Errorf("%s %s: content-length %s for %d bytes", place, query, length, len(want))
			}
		}
	}
	// grep gives the lines that match, each recognisable, and perhaps their context.
	for place, reply := range bothDoors(t, s, http.MethodGet, "id="+id+"&grep="+url.QueryEscape("shard 3 ")+"&head=5", nil) {
		for _, line := range all[:2] {
			if reply.Status != 200 || !strings.Contains(string(reply.Body), strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s grep: status %d, %.300s", place, reply.Status, reply.Body)
			}
		}
		if len(reply.Body) > 20_000 {
			t.Errorf("%s grep with head=5: %d bytes", place, len(reply.Body))
		}
	}
	wrongSelectors(t, s, id)
}

// wrongSelectors wants a word about what is wrong, and no crash.
func wrongSelectors(t *testing.T, s *stack.Stack, id string) {
	t.Helper()
	for _, query := range []string{"&lines=0", "&lines=9-3", "&lines=x", "&head=-1", "&tail=1e9", "&grep=(", "&page=2", "&lines=1&lines=2"} {
		for place, reply := range bothDoors(t, s, http.MethodGet, "id="+id+query, nil) {
			name, _, _ := strings.Cut(query[1:], "=")
			if reply.Status != 400 || !strings.Contains(string(reply.Body), name) {
				t.Errorf("%s %s: status %d, %s", place, query, reply.Status, reply.Body)
			}
		}
	}
	for place, reply := range bothDoors(t, s, http.MethodHead, "id="+id, nil) {
		if reply.Status != 200 || len(reply.Body) != 0 {
			t.Errorf("%s HEAD: status %d with %d bytes", place, reply.Status, len(reply.Body))
		}
	}
	for place, reply := range bothDoors(t, s, http.MethodPost, "id="+id, nil) {
		if reply.Status != 405 || reply.Header.Get("Allow") == "" {
			t.Errorf("%s POST: status %d, allow %q", place, reply.Status, reply.Header.Get("Allow"))
		}
	}
}

// bothDoors asks for an original through Envoy, from clients of both protocols,
// and on the service's own port.
func bothDoors(t *testing.T, s *stack.Stack, method, query string, header map[string]string) map[string]*stack.Reply {
	t.Helper()
	out := map[string]*stack.Reply{"port": atPort(t, s, method, query, header)}
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		out["Envoy "+p.String()] = do(t, s, stack.Call{Protocol: p, Method: method, Path: expandPath + "?" + query, Header: header})
	}
	return out
}

func atPort(t *testing.T, s *stack.Stack, method, query string, header map[string]string) *stack.Reply {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), method, s.Service().URL()+"/expand?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+stack.Credential)
	for name, value := range header {
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	resp, err := s.Client(stack.H1).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &stack.Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// sameNotFound wants answers that cannot be told apart.
func sameNotFound(t *testing.T, replies map[string]*stack.Reply) {
	t.Helper()
	var first *stack.Reply
	for what, reply := range replies {
		reply.Header = maps.Clone(reply.Header)
		for _, own := range []string{"Date", "X-Envoy-Upstream-Service-Time"} {
			reply.Header.Del(own)
		}
		if reply.Status != 404 {
			t.Errorf("%s: status %d, want 404: %.100s", what, reply.Status, reply.Body)
			continue
		}
		if first == nil {
			first = reply
		}
		if !bytes.Equal(reply.Body, first.Body) || fmt.Sprint(reply.Header) != fmt.Sprint(first.Header) {
			t.Errorf("%s can be told apart: %q %v, others %q %v", what, reply.Body, reply.Header, first.Body, first.Header)
		}
	}
}

// TestTenantsByHeader: two tenants send the same outputs and get the same edits,
// and each reads only what it sent.
func TestTenantsByHeader(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(externalSole+"tenant: {header: X-Tenant}\n"), stack.WithSecret("open-sesame-open-sesame"), stack.WithRedis(stack.RedisOptions{}))
	needsMarkers(t, s)
	tenant := func(name string) map[string]string { return map[string]string{"x-tenant": name} }
	ids := map[string]string{}
	for name, text := range map[string]string{"red": "red\n" + testLog(200), "blue": "blue\n" + testLog(200)} {
		body := question(t, chat.OpenAI, text)
		_, got := exchange(t, s, stack.Call{Path: chatPath, Body: body, Header: tenant(name)})
		ids[name] = markerOf(t, body, got.Body)
	}
	// The same output of both: one id, two originals.
	shared := question(t, chat.OpenAI, "both\n"+testLog(250))
	for _, name := range []string{"red", "blue"} {
		_, got := exchange(t, s, stack.Call{Path: chatPath, Body: shared, Header: tenant(name)})
		if id := markerOf(t, shared, got.Body); ids["both"] != "" && ids["both"] != id {
			t.Errorf("equal outputs got %s and %s", ids["both"], id)
		} else {
			ids["both"] = id
		}
	}
	if keys, err := s.Redis.Keys(within(t), "cg:*:"+ids["both"]); err != nil || len(keys) != 2 {
		t.Errorf("the shared output is stored under %v (%v), want one key per tenant", keys, err)
	}
	for _, name := range []string{"red", "blue"} {
		for _, id := range []string{ids[name], ids["both"]} {
			if reply := do(t, s, stack.Call{Path: expandPath + "?id=" + id, Header: tenant(name)}); reply.Status != 200 || !bytes.Contains(reply.Body, []byte("store_test.go")) {
				t.Errorf("%s cannot read its own: status %d", name, reply.Status)
			}
		}
	}
	get := func(id string, header map[string]string) *stack.Reply {
		return do(t, s, stack.Call{Path: expandPath + "?id=" + id, Header: header})
	}
	smuggled := smuggle(t, s, expandPath+"?id="+ids["red"], "X-Tenant", "red", "blue")
	sameNotFound(t, map[string]*stack.Reply{
		"another tenant's": get(ids["red"], tenant("blue")), "the other way": get(ids["blue"], tenant("red")), "a third tenant": get(ids["both"], tenant("green")),
		"unknown": get(forged(ids["red"]), tenant("red")), "malformed": get("%00", tenant("red")), "too long": get(strings.Repeat("a", 5000), tenant("red")),
		"empty": get("", tenant("red")), "no tenant": get(ids["red"], nil), "credential only": get(ids["red"], map[string]string{"x-api-key": "red"}),
		"smuggled in front": smuggled, "with a wrong selector": get(ids["red"]+"&lines=x", tenant("blue")),
	})
	// On the service's own port anybody can write any header.
	sameNotFound(t, map[string]*stack.Reply{
		"header on the port": atPort(t, s, "GET", "id="+ids["red"], tenant("red")), "credential on the port": atPort(t, s, "GET", "id="+ids["red"], nil),
		"nothing on the port": atPort(t, s, "GET", "id="+ids["red"], map[string]string{"authorization": ""}), "malformed on the port": atPort(t, s, "GET", "id=x", nil),
	})
	noTenantNoMarker(t, s, nil)
}

// smuggle sends a header twice, the client's value before the gateway's.
func smuggle(t *testing.T, s *stack.Stack, path, name string, values ...string) *stack.Reply {
	t.Helper()
	req, err := s.Request(within(t), stack.Call{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		req.Header.Add(name, v)
	}
	resp, err := s.Client(stack.H1).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &stack.Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// TestTenantsByCredential: without a tenant header the caller's whole secret is
// the tenant, wherever it stands; without one there is no tenant.
func TestTenantsByCredential(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(externalSole))
	needsMarkers(t, s)
	body := question(t, chat.Anthropic, testLog(200))
	callers := map[string]map[string]string{
		"bearer": {"authorization": "Bearer one"}, "other bearer": {"authorization": "Bearer two"}, "prefix": {"authorization": "Bearer on"},
		"x-api-key": {"authorization": "", "x-api-key": "one"}, "google": {"authorization": "", "x-goog-api-key": "one"},
	}
	for name, header := range callers {
		text := name + "\n" + testLog(220)
		own := question(t, chat.Anthropic, text)
		_, got := exchange(t, s, stack.Call{Path: messagesPath, Body: own, Header: header})
		id := markerOf(t, own, got.Body)
		for other, theirs := range callers {
			for door, reply := range bothDoors(t, s, "GET", "id="+id, theirs) {
				if want := name == other; (reply.Status == 200 && string(reply.Body) == text) != want || !want && reply.Status != 404 {
					t.Errorf("%s reads %s's original at %s: status %d", other, name, door, reply.Status)
				}
			}
		}
	}
	noTenantNoMarker(t, s, map[string]string{"authorization": ""})
	_, got := exchange(t, s, stack.Call{Path: messagesPath, Body: body})
	id := markerOf(t, body, got.Body)
	sameNotFound(t, map[string]*stack.Reply{
		"no credential": do(t, s, stack.Call{Path: expandPath + "?id=" + id, Header: map[string]string{"authorization": ""}}),
		"unknown":       do(t, s, stack.Call{Path: expandPath + "?id=" + forged(id)}), "malformed": do(t, s, stack.Call{Path: expandPath + "?id=%3C%3C"}),
	})
}

// noTenantNoMarker: a request of nobody keeps its lossless edits and loses nothing.
func noTenantNoMarker(t *testing.T, s *stack.Stack, header map[string]string) {
	t.Helper()
	body := question(t, chat.OpenAI, records(0, 120))
	_, got := exchange(t, s, stack.Call{Path: chatPath, Body: body, Header: header})
	edits, err := chat.Edits(body, got.Body)
	if err != nil || len(edits) != 1 || markers(edits) != 0 {
		t.Errorf("without a tenant: %d edits with %d markers, %v; want one without", len(edits), markers(edits), err)
	}
	if n := metric(t, s, "contextguru_lossless_only_total", "reason", "no_tenant"); n != 1 {
		t.Errorf("%v exchanges were counted as without a tenant, want 1", n)
	}
}

// markerOf returns the id of the one marker of a rewritten body.
func markerOf(t *testing.T, client, sent []byte) string {
	t.Helper()
	edits, err := chat.Edits(client, sent)
	if err != nil {
		t.Fatal(err)
	}
	if len(edits) != 1 || len(edits[0].IDs) != 1 {
		t.Fatalf("%d edits with %d markers, want one of each", len(edits), markers(edits))
	}
	return edits[0].IDs[0]
}

// forged is an id of the right form that nobody minted: its check tag is wrong.
func forged(id string) string {
	last := byte('a')
	if id[len(id)-1] == last {
		last = 'b'
	}
	return id[:len(id)-1] + string(last)
}
