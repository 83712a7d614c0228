// Package stack starts the real things around the product on free ports and
// ends them again: Envoy with the configuration this repository ships, the
// service as a built binary in one or more replicas, a Redis server, a scripted
// provider, and a receiver for telemetry. The end-to-end tests, the demo and the
// benchmark share it.
//
//	s := stack.New(t, stack.WithConfig("expand: {resolver: external}"), stack.WithRedis(stack.RedisOptions{}))
//	reply, err := s.Do(ctx, stack.Call{Path: "/v1/chat/completions", Body: body})
//
// [New] is for tests: it skips where Envoy or Redis is missing, or fails when
// REQUIRE_E2E=1, and prints what every part said when the test failed. [Start]
// is for everything else.
//
// Envoy is taken from ENVOY_BIN, else from .cache/envoy/$ENVOY_VERSION (1.40.0),
// else from the PATH. Its configuration is envoy/envoy.yaml with other addresses;
// a test that needs more changes it through an [Edit].
package stack
