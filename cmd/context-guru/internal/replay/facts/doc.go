// Package facts says what a reader can learn from a tool output, and whether
// that can still be read in another text. It is the measure that stands beside
// a saving: tokens are easily saved by leaving out what mattered.
//
// It shares no code with the components it judges, on purpose: what a component
// overlooks, its judge must see.
//
// # Facts
//
// Where a text is a JSON document, its facts are the scalars: numbers of two
// characters or more, and strings of 2 to 80 bytes. Elsewhere, and in longer
// strings, they are the words that stand for one particular thing: paths,
// numbers of three digits or more, and names that are no words of a language
// (joined by dots or underscores, with capitals inside or with digits). Texts
// are read as a terminal shows them: without escape sequences, and of what a
// carriage return overwrites, the last.
//
// # Reading
//
// A fact counts as readable where its text stands by itself, not as a part of a
// longer word. A JSON escape in front of it does no harm.
//
// # Error lines
//
// A line reports an error when it says so in the form tools use: a level, a
// word and a colon, the name of an exception, a failed test, a status other
// than zero. Words alone do not count, and lines of source code, which is full
// of them, are left out. Of a line, the first 160 bytes have to be readable.
package facts
