package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTenantOf(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k2", "k1")
	name := func(kind, value string) []string { return keys.Derive("tenant", kind+"\x00"+value) }
	type headers = map[string]string
	for _, tc := range []struct {
		name          string
		of            TenantOf
		headers       headers
		gateway, port []string
	}{
		{"nothing", TenantOf{}, headers{}, nil, nil},
		{"bearer", TenantOf{}, headers{"authorization": "Bearer a"}, name("authorization", "Bearer a"), name("authorization", "Bearer a")},
		{"x-api-key", TenantOf{}, headers{"x-api-key": "a"}, name("x-api-key", "a"), name("x-api-key", "a")},
		{"api-key", TenantOf{}, headers{"api-key": "a"}, name("api-key", "a"), name("api-key", "a")},
		{"x-goog-api-key", TenantOf{}, headers{"x-goog-api-key": "a"}, name("x-goog-api-key", "a"), name("x-goog-api-key", "a")},
		{
			"order",
			TenantOf{},
			headers{"x-goog-api-key": "4", "api-key": "3", "x-api-key": "2", "authorization": "1"},
			name("authorization", "1"), name("authorization", "1"),
		},
		{"order without the first", TenantOf{}, headers{"x-goog-api-key": "4", "api-key": "3", "x-api-key": "2"}, name("x-api-key", "2"), name("x-api-key", "2")},
		{"default", TenantOf{Default: "d"}, headers{}, name(":default", "d"), name(":default", "d")},
		{"credential before default", TenantOf{Default: "d"}, headers{"api-key": "a"}, name("api-key", "a"), name("api-key", "a")},
		{"header", TenantOf{Header: "X-Team"}, headers{"x-team": "blue", "api-key": "a"}, name(":header", "blue"), name("api-key", "a")},
		{"header alone", TenantOf{Header: "x-team"}, headers{"x-team": "blue"}, name(":header", "blue"), nil},
		{"header missing", TenantOf{Header: "x-team"}, headers{"api-key": "a"}, nil, name("api-key", "a")},
		{"header missing, default", TenantOf{Header: "x-team", Default: "d"}, headers{"api-key": "a"}, name(":default", "d"), name("api-key", "a")},
		{"nothing, header and default", TenantOf{Header: "x-team", Default: "d"}, headers{}, name(":default", "d"), nil},
		{"header not configured", TenantOf{}, headers{"x-team": "blue"}, nil, nil},
	} {
		tc.of.Keys = keys
		get := func(name string) string { return tc.headers[name] }
		if diff := cmp.Diff(tc.gateway, tc.of.FromGateway(get)); diff != "" {
			t.Errorf("%s through the gateway (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.port, tc.of.FromPort(get)); diff != "" {
			t.Errorf("%s at the port (-want +got):\n%s", tc.name, diff)
		}
	}
}

// The same word in two places is two tenants: a caller must not become the
// gateway's "blue" by using "blue" as an API key, nor the default.
func TestTenantsOfDifferentKindsDiffer(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k1")
	seen := map[string]string{}
	add := func(what string, names []string) {
		if len(names) != 1 {
			t.Fatalf("%s: %v", what, names)
		}
		if other, taken := seen[names[0]]; taken {
			t.Errorf("%s and %s are the same tenant", what, other)
		}
		seen[names[0]] = what
	}
	for _, header := range []string{"authorization", "x-api-key", "api-key", "x-goog-api-key"} {
		add(header, (TenantOf{Keys: keys}).FromPort(func(name string) string { return map[string]string{header: "blue"}[name] }))
	}
	add("header", (TenantOf{Keys: keys, Header: "x-api-key"}).FromGateway(func(string) string { return "blue" }))
	add("default", (TenantOf{Keys: keys, Default: "blue"}).FromGateway(func(string) string { return "" }))
}
