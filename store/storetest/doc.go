// Package storetest holds the suite every store must pass and the means to run
// it against a real server.
//
// [Run] is the contract of [store.Store] as tests. [StartRedis] starts the
// redis-server found on PATH; without one a test skips, or fails when
// REQUIRE_E2E=1.
package storetest
