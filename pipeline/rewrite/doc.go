// Package rewrite takes one request body through the whole product: parse,
// run the pipeline, keep the originals, put in the expand tool, splice. It knows
// dialects and the store, and no transport: the ext_proc service, the command
// line and the tests call the same [Rewriter].
//
// Who reads originals back decides what keeps the promise that nothing is lost:
//
//   - With [ResolverExternal] originals are acknowledged by the store before the
//     body that carries their markers is handed back. If they are not, the same
//     request goes out with its lossless edits only.
//   - With [ResolverLoop] the request holds every original itself, and
//     [Reply.Originals] reads them there. The store is told before the body is
//     handed back, too, and a failure is reported, but changes no edit. What a
//     model needs is a tool to ask with: it stands behind the client's tools in
//     every request of a conversation or in none, and where it cannot be put in,
//     the conversation gets lossless edits only.
//
// If anything else fails, the client's bytes go out.
package rewrite
