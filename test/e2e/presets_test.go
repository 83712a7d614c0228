package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// routed adds routes in front of the others for requests that name them in a
// header x-route. Each has changes of its own, as YAML by key.
func routed(routes map[string]map[string]stack.YAML) stack.Edit {
	return func(c *stack.Config) {
		last := c.Clone(stack.RoutePath())
		for name, changes := range routes {
			route := last.Clone(stack.Path{})
			route.Set(stack.Path{"match", "headers"}, []any{
				map[string]any{"name": "x-route", "string_match": map[string]string{"exact": name}},
			})
			for key, value := range changes {
				route.Set(stack.Path{key}, value)
			}
			c.Insert(stack.RoutePath()[:len(stack.RoutePath())-1], 0, route)
		}
	}
}

const (
	// metadataOverride is a route's own gRPC metadata.
	metadataOverride = `context_guru:
  "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
  overrides: { grpc_initial_metadata: [ { key: x-context-guru-preset, value: "off" } ] }
`
	// fromRoute takes the preset from the metadata of the route, beside the secret.
	fromRoute = `[ { key: x-context-guru-secret, value: "%ENVIRONMENT(CONTEXT_GURU_SECRET)%" },
  { key: x-context-guru-preset, value: "%METADATA(ROUTE:context_guru:preset)%" } ]`
)

// TestPresetOfRouteAndRequest asks for presets in every way there is: a log is
// shortened by the configured preset, and goes out as it came under off.
func TestPresetOfRouteAndRequest(t *testing.T) {
	t.Parallel()
	const secret = "open-sesame-open-sesame"
	routes := routed(map[string]map[string]stack.YAML{
		"override": {"typed_per_filter_config": metadataOverride},
		"metadata": {"metadata": `filter_metadata: { context_guru: { preset: "off" } }`},
		"unknown":  {"metadata": `filter_metadata: { context_guru: { preset: "of" } }`},
		"both": {
			"metadata": `filter_metadata: { context_guru: { preset: general } }`, "typed_per_filter_config": metadataOverride,
		},
	})
	for name, trusted := range map[string]bool{"trusted": true, "untrusted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := external + "request: {preset_header: false}\n"
			if trusted {
				config = external + "request: {preset_header: true}\n"
			}
			s := stack.New(t, stack.WithConfig(config), stack.WithSecret(secret),
				stack.WithEnvoy(stack.Set(stack.FilterPath().Then("grpc_service", "initial_metadata"), stack.YAML(fromRoute)), routes))
			body := question(t, chat.OpenAI, testLog(300))
			for _, c := range []struct {
				route, header string
				off           bool
			}{
				{"", "", false},
				{"override", "", true},
				{"metadata", "", true},
				{"unknown", "", false},
				{"both", "", true},
				{"", "off", trusted},
				{"", "of", false},
				{"metadata", "general", !trusted},
				{"metadata", "of", !trusted},
			} {
				header := map[string]string{"x-route": c.route}
				if c.header != "" {
					header["x-context-guru-preset"] = c.header
				}
				_, got := exchange(t, s, stack.Call{Path: chatPath, Body: body, Header: header})
				if off := bytes.Equal(got.Body, body); off != c.off {
					t.Errorf("route %q, header %q: unchanged is %v, want %v", c.route, c.header, off, c.off)
				}
				for name := range got.Header {
					if strings.HasPrefix(strings.ToLower(name), "x-context-guru") {
						t.Errorf("route %q, header %q: the provider received %s", c.route, c.header, name)
					}
				}
			}
			if n := metric(t, s, "contextguru_presets_unknown_total", "by", "route"); n != 1 {
				t.Errorf("%v unknown presets of routes, want 1", n)
			}
			if n, want := metric(t, s, "contextguru_presets_unknown_total", "by", "header"), map[bool]float64{true: 2}[trusted]; n != want {
				t.Errorf("%v unknown presets of headers, want %v", n, want)
			}
			if n := strings.Count(s.Service().Log().String(), "preset_unknown"); n > 2 {
				t.Errorf("%d warnings about unknown presets", n)
			}
		})
	}
}

// TestBypass checks that any client can have its request left alone, and that
// nothing of ours reaches the provider, whatever becomes of the request.
func TestBypass(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.WithConfig(external))
	body := question(t, chat.Anthropic, testLog(300))
	for _, p := range []stack.Protocol{stack.H1, stack.H2} {
		for _, c := range []struct {
			value string
			same  bool
		}{{"true", true}, {" TRUE ", true}, {"false", false}, {"1", false}} {
			reply, got := exchange(t, s, stack.Call{Protocol: p, Path: messagesPath, Body: body, Header: map[string]string{
				"x-context-guru-bypass": c.value, "x-context-guru-hop": "forged", "x-context-guru-preset": "off",
			}})
			if same := bytes.Equal(got.Body, body); same != c.same {
				t.Errorf("%v, %q: unchanged is %v", p, c.value, same)
			}
			if want, err := got.Reply(within(t)); err != nil || !bytes.Equal(reply.Body, want.Body) {
				t.Errorf("%v, %q: the client got another answer than the provider gave, %v", p, c.value, err)
			}
			for name := range got.Header {
				if strings.HasPrefix(strings.ToLower(name), "x-context-guru") {
					t.Errorf("%v, %q: the provider received %s", p, c.value, name)
				}
			}
		}
		do(t, s, stack.Call{Protocol: p, Path: "/v1/models", Header: map[string]string{"x-context-guru-bypass": "true", "x-context-guru-other": "x"}})
		if got := last(t, s); got.Header.Get("x-context-guru-other")+got.Header.Get("x-context-guru-bypass") != "" {
			t.Errorf("%v: the provider received %v", p, got.Header)
		}
	}
	if n := metric(t, s, "contextguru_optouts_total", "reason", "bypass"); n != 4 {
		t.Errorf("%v exchanges bypassed, want 4", n)
	}
}
