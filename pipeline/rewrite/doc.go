// Package rewrite takes one request body through the whole product: parse,
// run the pipeline, keep the originals, splice. It knows dialects and the
// store, and no transport: the ext_proc service, the command line and the tests
// call the same [Rewriter].
//
// The order is what keeps the promise that nothing is lost: originals are
// acknowledged by the store before the body that carries their markers is
// handed back. If they are not, the same request goes out with its lossless
// edits only; if anything else fails, the client's bytes go out.
package rewrite
