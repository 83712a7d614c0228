// Package replay sends recorded conversations through the product, turn by
// turn, and says what would have come of it: what was saved and by which
// component, what the provider would have billed, whether its cache would have
// kept hitting, and what the model could still read. It is how an operator
// decides before turning anything on.
//
// The parts stand in packages of their own: capture reads what was recorded,
// prompt reads a request as a provider does, bill prices it, facts judges what
// can still be read, report adds everything up and prints it. What package live
// says of traffic is measured by the same ones.
//
// # The tool
//
// Where markers are allowed, the definition of the tool that resolves them is a
// part of the tools of every request, and is billed.
//
// # What is checked
//
//   - Breaks. Where a request of the client begins like one before, the
//     rewritten ones must as well. A break is planned when a horizon was passed
//     since, and only outputs differ that a component changed that decides at
//     horizons. A rewriter without any memory must give the last request the
//     same bytes; otherwise that is an unplanned break too.
//   - Restores. Every edited output carries one marker behind which the store
//     has the client's text, or is what the pipeline holds to be equivalent.
//     Every byte outside of the outputs is the client's.
//   - Visibility. See package facts. Something is in place where its own output
//     shows it, elsewhere where another part of the last request does, behind a
//     marker where only the original does, and lost otherwise.
package replay
