// Package prompt reads a request of any dialect as a provider does: a list of
// units, which are the tools, the system prompt and the messages. A provider
// caches a prompt up to the end of a unit, and what a unit says does not depend
// on how a client spells it.
//
// # What is counted
//
// Tokens of a request are those of its tools, as the JSON they are, and of the
// decoded texts of its system prompt and messages: what was said, calls and
// their arguments, tool outputs. Roles, ids, signatures, images and files and
// the framing a provider adds are not counted; rewriting leaves them alone.
package prompt
