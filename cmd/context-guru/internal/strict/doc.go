// Package strict reads settings from YAML into Go structs and says of
// everything it does not understand where it stands, what is wrong with it and
// how to cure it. It reports every fault of a document at once.
//
// One reader decides: the document is parsed once into nodes that know their
// place, and every value is assigned from its node when, and only when, its
// node has the right form. A checker beside a second decoder would sooner or
// later disagree with it about the same text (YAML 1.1 reads the key "on" as
// true and the number 017 as 15, JSON decoders match keys of any case), and
// then what was checked is not what is in force.
//
// # Rules
//
//   - Keys are those of the json tags, in their very spelling. An unknown key is
//     a fault that names the closest known one; a key written twice is a fault.
//   - A value has the type of its field: true and false are the only booleans,
//     integers are decimal, a number where text belongs needs quotes.
//   - A mapping is merged into the defaults key by key. A list, and a map whose
//     keys are free, is taken as written. Nothing written after the colon of
//     a mapping or list keeps its default; a scalar needs a value.
//   - Anchors, aliases, merge keys and tags of one's own are refused: they
//     make the place of a fault ambiguous and a small document large.
//   - A document is one document, UTF-8, at most [MaxBytes] long. An empty one
//     changes nothing.
//
// A field whose type implements [encoding.TextUnmarshaler] is read from text,
// a scalar with a Validate method is asked whether it likes its value. Rules
// about several values are the caller's: [Block.Report] puts their faults in place.
package strict
