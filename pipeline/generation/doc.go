// Package generation keeps a conversation on the configuration it began with.
//
// What happens to a tool output is decided when it is first sent and must be
// decided the same way each time the history is sent again, or the provider
// bills the whole prefix anew. Configurations change all the same: a file is
// edited, a newer model map brings other windows, a rollout runs two versions
// side by side. So a configuration that can change an edit has a name, its
// generation, and a conversation stays with the generation of its first
// request, whichever replica its next request comes to.
//
// # Names
//
// A generation's id is a digest of its [Document]: the settings that can
// change an edit, the service key that mints, and the digest of the windows of
// the models. Equal ids decide alike. It does not cover the program: a release
// in which a component decides otherwise under the same settings is a new
// generation only if a setting or a default of it is new as well.
//
// A conversation's name is its root (pipeline.Keyring.Root): a keyed hash of
// the tenant and of the texts before the first assistant message. What a
// client does later leaves them alone. Two conversations that begin alike
// share their root, and may: they then share a generation. A history that was
// compacted begins otherwise and is a new conversation.
//
// # Pins
//
// The root's generation is set if absent in the store, under the tenant and g:,
// and slides with the TTL of the originals. Each process remembers the pins it
// has seen, found by a hash of the raw bytes of the preamble, so that a later
// request of a conversation costs that hash and nothing else.
//
// While one generation is live, nobody waits for a pin: it is written behind
// the request, once per conversation and process, so that a later rollout finds
// it. While more than one is live, a process asks the store about every
// conversation it does not know yet, in one round trip that writes the pin if
// there is none, and within [Config.Wait]. If the store does not answer, or
// an old conversation has no pin, or its generation cannot be had, the current
// generation is used and counted: this is the one way in which a change may
// show in the middle of a conversation.
//
// # Which generations are live
//
// One that has been in use anywhere during the TTL of the pins: as long as a
// conversation may be pinned to it. The store has no lists, so replicas
// announce into numbered slots of an hour: live/HOUR/0, live/HOUR/1 and so on,
// each set if absent to a generation's id, whoever comes first. Every replica
// announces, once per hour, what it began conversations with or continued them
// under, and looks every second at the first slot that was empty, which is one
// read. Around the full hour both hours count, so clocks may differ by a
// minute. At its start a replica reads the hours that lie within the TTL, at
// most a week.
//
// A new generation is announced first and used after [settle], when every
// replica has looked at least twice. Within that time the others learn that
// they have to ask before somebody begins a conversation they might continue.
// What was begun before they learned it has its pin written behind the
// request. Left is what a store that fails at the wrong moment leaves: a pin
// that was not written, an announcement that was not read. A replica that
// cannot look at the slots assumes that others are live and asks. When a pin
// that is written late turns out to be another's, the conversation follows the
// store from then on and the break is counted.
//
// # Documents
//
// A replica keeps the generations it used last, at most [loadedMost], and
// fetches others by id: doc/ID holds the document and models/DIGEST the model
// map. Both are written before a generation is announced and renewed every
// hour while it is in use. Documents hold no secret: keys are named by id, and
// a replica that has not got the key cannot build the generation. What is
// fetched has to have the digest that names it.
//
// # What is exempt
//
// Switching off: the caller asks the current generation first, and where that
// one does nothing nothing is done, pinned or not. [Manager.Note] keeps the pin
// of such a conversation, so that switching on again continues what was.
package generation
