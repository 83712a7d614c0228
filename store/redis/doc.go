// Package redis is the store shared between replicas: Redis 6.2 or later, or
// Valkey; single, behind sentinels, or a cluster.
//
// # What a call costs
//
// PutAll is one pipeline. For the keys this process knows to be stored with the
// same value it holds one TOUCH that counts them, and a PEXPIRE for each whose
// last renewal is older than a 24th of its TTL: the key must be proved to exist
// each time, but renewing it is a write that replicas and append-only files have
// to follow. A key found gone (evicted, flushed, server restarted) is written
// again at once, within the same call. For any other key the pipeline holds SET
// NX PX, GETRANGE of the 33 header bytes and PEXPIRE, so that the full digest is
// compared without moving the value back. When the values of unknown keys
// add up to more than 256 KB, their headers are asked for first and only what
// is missing is compressed and sent: another replica usually stored the history
// of a conversation already. More than 1 MB of new values goes out in pipelines
// of about 1 MB, and what was acknowledged stays known, so a put that ran out of
// time gets further when it is tried again.
//
// That a known key exists is taken as proof that it holds the known value: ids
// name contents, so only a lost value and a collision of ids together could make
// it another one.
//
// Measured with
//
//	go test -run '^$' -bench 'PutAll|Get' -benchtime 1000x ./store/redis
//
// on two shared cores of an AMD EPYC, Redis 7.0.15 over a unix socket (TCP over
// loopback is within 10 %), medians: 20 originals of 10 KB 0.44 ms when they are
// new and 0.05 ms when they are known; a history of 200 known originals 0.11 ms,
// where a PEXPIRE for each took 0.66 ms; reading one original 0.04 ms.
//
// # What a call may take
//
// Every call has a deadline that covers all the caller waits for, compression
// included: 50 ms for PutAll, SetIfAbsent and Ping, 250 ms for Get unless
// configured. Nothing is retried inside a call. After a few failures in a row a
// circuit breaker refuses calls at once, so a server that is down or stalled
// costs a request nothing; after a second one call is let through as a probe.
// A full or read-only server answers, so it does not open the breaker: values
// can still be read from it.
//
// # Permissions
//
// A restricted ACL user needs GET, GETEX, GETRANGE, SET, PEXPIRE, TOUCH and PING
// on keys ~cg:*, and INFO for [Store.Inspect]; a cluster client needs CLUSTER and
// READONLY, COMMAND helps it.
package redis
