package stack

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Edit changes Envoy's configuration before Envoy is started.
type Edit func(*Config)

// Set puts any value at a path.
func Set(path Path, value any) Edit { return func(c *Config) { c.Set(path, value) } }

// FailClosed makes Envoy refuse requests that the service fails on, instead of
// sending them on unchanged.
func FailClosed() Edit { return Set(FilterPath().Then("failure_mode_allow"), false) }

// MessageTimeout bounds one answer of the service.
func MessageTimeout(d time.Duration) Edit {
	return Set(FilterPath().Then("message_timeout"), seconds(d))
}

// ListenerBufferLimit sets the listener's buffer limit, whose default is 1 MiB.
func ListenerBufferLimit(bytes int64) Edit {
	return Set(ListenerPath().Then("per_connection_buffer_limit_bytes"), bytes)
}

// RouteBufferLimit sets the route's limit for request bodies.
func RouteBufferLimit(bytes int64) Edit {
	return Set(RoutePath().Then("request_body_buffer_limit"), bytes)
}

// RouteTimeout bounds the provider's whole response; 0 is no bound.
func RouteTimeout(d time.Duration) Edit {
	return Set(RoutePath().Then("route", "timeout"), seconds(d))
}

// StreamIdleTimeout bounds the silence of an exchange.
func StreamIdleTimeout(d time.Duration) Edit {
	return Set(ManagerPath().Then("stream_idle_timeout"), seconds(d))
}

// BodyModes sets the static body modes, such as BUFFERED or FULL_DUPLEX_STREAMED.
func BodyModes(request, response string) Edit {
	return func(c *Config) {
		mode := FilterPath().Then("processing_mode")
		c.Set(mode.Then("request_body_mode"), request)
		c.Set(mode.Then("response_body_mode"), response)
		// Envoy refuses a full-duplex body without the trailers that may follow it.
		if request == fullDuplex {
			c.Set(mode.Then("request_trailer_mode"), "SEND")
		}
		if response == fullDuplex {
			c.Set(mode.Then("response_trailer_mode"), "SEND")
		}
	}
}

const fullDuplex = "FULL_DUPLEX_STREAMED"

// NoModeOverride makes Envoy ignore the body modes the service asks for.
func NoModeOverride() Edit { return Set(FilterPath().Then("allow_mode_override"), false) }

// InitialMetadata adds gRPC metadata to the calls of the service.
func InitialMetadata(key, value string) Edit {
	return func(c *Config) {
		c.Set(FilterPath().Then("grpc_service", "initial_metadata"), []map[string]string{{"key": key, "value": value}})
	}
}

// Place is where an HTTP filter stands relative to the service's own.
type Place int

// The places.
const (
	// Before the service's filter, nearer to the client.
	Before Place = iota
	// Behind it, nearer to the provider.
	Behind
)

// HTTPFilter adds a filter, given as YAML.
func HTTPFilter(place Place, filter YAML) Edit {
	return func(c *Config) {
		filters := ManagerPath().Then("http_filters")
		list := c.Get(filters)
		if list == nil {
			return
		}
		for i, element := range list.Content {
			if name := child(element, "name"); name != nil && name.Value == filterName {
				c.Insert(filters, i+int(place), filter)
				return
			}
		}
		c.Fail(fmt.Errorf("envoy configuration: no filter %s", filterName))
	}
}

// SecondExtProc adds another external processor with the given body modes at an
// address, as AI gateways do.
func SecondExtProc(place Place, address, requestMode, responseMode string) Edit {
	const name = "second_ext_proc"
	return func(c *Config) {
		HTTPFilter(place, YAML(fmt.Sprintf(`
name: %[1]s
typed_config:
  "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor
  grpc_service: { envoy_grpc: { cluster_name: %[1]s } }
  processing_mode: { request_header_mode: SEND, request_body_mode: %[2]s, response_header_mode: SEND, response_body_mode: %[3]s }
  allow_mode_override: true
  message_timeout: 10s
  stat_prefix: %[1]s
`, name, requestMode, responseMode)))(c)
		addCluster(c, name, []string{address})
		// Such a processor need not know the gRPC health service.
		c.Remove(ClusterPath(name), "health_checks")
	}
}

// routeLimitSince is the first release in which the route's buffer limit has an effect.
const routeLimitSince = 37

// raiseOldLimits does for an older Envoy what its operators have to do: bodies
// over the listener's limit, or over the window of an HTTP/2 stream, would hang.
func raiseOldLimits(c *Config) {
	const limit = 64 << 20
	if listener := c.Get(ListenerPath()); listener != nil && child(listener, "per_connection_buffer_limit_bytes") == nil {
		ListenerBufferLimit(limit)(c)
	}
	c.Set(ManagerPath().Then("http2_protocol_options"), map[string]int{
		"initial_stream_window_size": limit, "initial_connection_window_size": limit,
	})
}

// pinHeader is the request header by which a client chooses a replica.
const pinHeader = "x-stack-replica"

// pinReplicas adds a route and a cluster per replica, chosen by [pinHeader].
func pinReplicas(addresses []string) Edit {
	return func(c *Config) {
		routes := RoutePath()[:len(RoutePath())-1]
		for i, address := range addresses {
			cluster := filterName + "_" + strconv.Itoa(i)
			addCluster(c, cluster, []string{address})
			service := c.Clone(FilterPath().Then("grpc_service"))
			service.Set(Path{"envoy_grpc", "cluster_name"}, cluster)
			route := c.Clone(RoutePath())
			route.Set(Path{"match", "headers"}, []any{
				map[string]any{"name": pinHeader, "string_match": map[string]string{"exact": strconv.Itoa(i)}},
			})
			route.Set(Path{"request_headers_to_remove"}, []string{pinHeader})
			route.Set(Path{"typed_per_filter_config"}, YAML(filterName+`:
  "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
  overrides: {}
`))
			route.Set(Path{"typed_per_filter_config", filterName, "overrides", "grpc_service"}, service)
			c.Insert(routes, i, route)
		}
	}
}

// addCluster adds a copy of the service's cluster under another name.
func addCluster(c *Config, name string, addresses []string) {
	cluster := c.Clone(ClusterPath(filterName))
	cluster.Set(Path{"name"}, name)
	cluster.Set(Path{"load_assignment", "cluster_name"}, name)
	setEndpoints(cluster, nil, addresses)
	c.Insert(Path{"static_resources", "clusters"}, -1, cluster)
}

// setEndpoints points the cluster at a path to addresses, each host:port or the
// absolute path of a unix socket.
func setEndpoints(c *Config, cluster Path, addresses []string) {
	endpoints := make([]any, len(addresses))
	for i, address := range addresses {
		endpoints[i] = map[string]any{"endpoint": map[string]any{"address": c.address(address)}}
		if strings.HasPrefix(address, "/") {
			c.Set(cluster.Then("type"), "STATIC")
		}
	}
	c.Set(cluster.Then("load_assignment", "endpoints"), []any{map[string]any{"lb_endpoints": endpoints}})
}

func (c *Config) address(address string) map[string]any {
	if strings.HasPrefix(address, "/") {
		return map[string]any{"pipe": map[string]string{"path": address}}
	}
	host, text, err := net.SplitHostPort(address)
	port, portErr := strconv.Atoi(text)
	if err != nil || portErr != nil {
		c.Fail(fmt.Errorf("envoy configuration: address %q: want host:port or the path of a unix socket", address))
	}
	return map[string]any{"socket_address": map[string]any{"address": host, "port_value": port}}
}

// seconds is the only spelling of a duration that Envoy takes.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
