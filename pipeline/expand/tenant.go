package expand

import (
	"strings"

	"github.com/contextguru/contextguru/pipeline"
)

// What a tenant's name is derived from beside credentials. They are no header
// names, so that no credential can spell them.
const (
	fromHeader  = ":header"
	fromDefault = ":default"
)

// TenantOf says whose a request is. A tenant is known by names that are
// derived from a secret or from what the gateway says, one per service key,
// the current one first; it stores under the first and reads under all. No
// name at all means that nothing may be stored for this caller or read by it.
type TenantOf struct {
	// Header is set by the gateway from an identity it has verified. When it is
	// configured, credentials say nothing: they rotate, and the header does not.
	Header string
	// Default is the tenant of requests that name none; empty means none.
	Default string
	// Keys derives the names.
	Keys *pipeline.Keyring
}

// FromGateway names the tenant of a request that came through the gateway,
// whose word on Header counts. get returns the value of a header by its
// lower-case name; of a header given more than once it must return all values
// joined, never the first, which the caller may have smuggled in.
func (t TenantOf) FromGateway(get func(name string) string) []string {
	if t.Header == "" {
		return t.FromPort(get)
	}
	if value := get(strings.ToLower(t.Header)); value != "" {
		return t.names(fromHeader, value)
	}
	return t.fallback()
}

// FromPort names the tenant of a request that came to a port of ours, where
// anybody may claim any header: only a credential counts, whole, the first
// present of those that callers authenticate to providers with. Where the gateway's
// header decides, the port has no default either, because it cannot tell a
// caller the gateway would have named.
func (t TenantOf) FromPort(get func(name string) string) []string {
	for _, name := range [...]string{"authorization", "x-api-key", "api-key", "x-goog-api-key"} {
		if value := get(name); value != "" {
			return t.names(name, value)
		}
	}
	if t.Header != "" {
		return nil
	}
	return t.fallback()
}

func (t TenantOf) fallback() []string {
	if t.Default == "" {
		return nil
	}
	return t.names(fromDefault, t.Default)
}

func (t TenantOf) names(kind, value string) []string {
	return t.Keys.Derive("tenant", kind+"\x00"+value)
}
