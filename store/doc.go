// Package store keeps what a rewritten request can no longer say for itself:
// the client's original texts, hidden exchanges, outcomes of model calls and
// configuration generations.
//
// [Store] is the whole contract; [Memory] keeps everything in this process,
// package store/redis shares it between replicas. Both pass the same suite in
// store/storetest and both write values with the same [Codec].
//
// # Keys
//
// A [Key] is rendered as cg:{tenant}:space:id. The tenant is part of the key,
// so a request can only ever name what its own tenant stored; it is also the
// cluster hash tag, so a tenant's keys share one slot. Tenant and id are
// percent-escaped, which makes the rendering injective: no tenant can spell
// another tenant's key.
//
// # Values
//
//	format (1) | digest (32) | own TTL in ms (uvarint) | payload
//
//	format 1  raw                 digest SHA-256 of the value
//	format 2  zstd                digest SHA-256 of the value
//	format 3  sealed raw          digest HMAC-SHA-256 of that SHA-256
//	format 4  sealed zstd         digest HMAC-SHA-256 of that SHA-256
//
// The first 33 bytes decide whether a stored value is the one about to be
// written, so a comparison moves 33 bytes instead of the value. A sealed value
// is nonce, ciphertext and tag of AES-256-GCM with everything before the
// payload and the key's name as additional data: it opens only where it was
// written. Its digest is keyed because a plain digest would let a reader of the
// server confirm guesses about short secrets.
//
// # Lifetime
//
// Every TTL slides: writing a value again and reading it both renew it.
// A value nobody asked for during its TTL (24 h unless told otherwise) is gone;
// the Redis store may count that from up to a 24th of the TTL before the last write.
package store
