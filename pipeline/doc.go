// Package pipeline turns a request into the edits that make it smaller.
//
// It is the model everything else is built on, and it knows nothing of JSON,
// providers, Envoy or the store:
//
//	bytes ──wire.Parse──▶ Transcript ──Pipeline.Run──▶ []Applied ──wire.Splice──▶ bytes
//	                        │ segments                   │ originals
//	                        ▼                            ▼
//	              (role, tool, text, turn, span)     store.PutAll
//
// A [Transcript] is an immutable view over the bytes of one request. Its
// [Segment]s are the tool outputs: one editable text leaf each. A [Component]
// looks at one segment and returns an [Edit]; edits can only be built by
// [Replace] (lossless, carries the check that proves it), [Offload] (lossy,
// carries the view that stays and the loss it stands for) and [Decline] (none,
// with the reason). A lossy edit therefore always has an original to keep:
// the runner mints the marker and registers it.
//
// A [RequestComponent] decides about the request as a whole, after all outputs
// were decided about. What it may do today is to [Annotate]: to set marks for the
// provider's cache, which the model does not read. Where a mark can stand is told
// by the request's [Caching], which is asked only when such a component is there.
//
// # Laws
//
// What happens to a segment is a function of the client's transcript up to
// that segment's turn and of the configuration, and of nothing else: no clock,
// no replica, no map order, no store. Two replicas, or one before and after a
// restart, rewrite the same history to the same bytes, so the provider's
// prompt cache keeps hitting.
//
//   - First sight: an output is rewritten the first time it is sent, or never.
//   - Views end at the turn: a component cannot see what came after its segment.
//   - Sizes and thresholds count the client's originals, never earlier edits.
//   - Guards judge one segment, never the request: a request-wide check would
//     apply or undo yesterday's edit today.
//   - Failures undo one edit. A panic, an error, a broken contract or a result
//     that is not smaller leaves that segment as it was and is counted.
//
// # Memo
//
// An agent resends its whole history every turn. The runner remembers the
// outcome of the whole chain of components for a segment under a key made of
// the pipeline's digest (components, order, settings, key, encoding), the
// segment's digest and, if any component looks beyond its segment, the digest
// of the transcript up to the segment's turn. Remembering the chain and not
// each component keeps the steady state at one lookup per segment however long
// the pipeline is. The memo is a cache: losing it costs time, never a byte.
package pipeline
