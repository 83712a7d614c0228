// Package expand gives originals back: whoever may read the text behind a
// marker asks for it by the marker's id, whole or in part.
//
// # Who may read
//
// An original belongs to the tenant that sent it, and [TenantOf] says whose a
// request is. A [Resolver] answers only ids that a service key has minted,
// for a tenant under which the text is stored, and only with a text that its
// id names. Whatever else is asked for (an unknown id, another tenant's,
// an expired or a malformed one, no credential) gets one and the same error.
//
// # What may be asked for
//
// A [Query] names an id and, if not the whole text is wanted, selectors:
//
//	lines=120-180   these lines, counted from 1, both ends included; also 120-, -50 and 7
//	skip=N          without the first N bytes of them
//	grep=RE2        the lines that match, numbered, with 2 lines around each
//	head=N tail=N   the first and the last N of what the others leave
//
// They apply in this order, like a pipe: grep searches the lines chosen by
// lines, head and tail count matches where there is a grep and lines where
// there is none. The id may carry selectors itself: ID:120-180, ID@N and ID?RE2,
// and several in this order. Without a selector the result is the original, byte
// for byte.
//
// A model asks with the tool of package tool, whose one argument is such an id;
// [ParseArguments] also takes what models make of it. What is too large for one
// answer is read in pieces, through [Window].
//
// # How it is answered
//
// [Answer] is the whole protocol as a value, because the same answer leaves by
// the HTTP port, through [Handler], and through Envoy as an immediate reply.
package expand
