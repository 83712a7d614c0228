// Package round holds what one upstream round of an exchange is made of, for
// the two sides that meet there: the one that reads a model's turn out of a
// response and the one that writes the next request.
//
// An exchange is what a client sees as one request and one answer. When the
// model calls the expand tool, it takes several rounds: the answer so far, the
// results, the next request.
package round

// Call is one tool call of a turn.
type Call struct {
	// ID is the call's id as the provider sent it, decoded. Gemini may send
	// none, then it is empty and only Index tells two calls apart.
	ID string
	// Name is the tool's name, decoded.
	Name string
	// Arguments is the text of the arguments as the model wrote it, to be read
	// as JSON. Where the dialect sends it as a string, it is that string's
	// content. It may be empty, cut off or not JSON at all.
	Arguments []byte
	// Index is the call's place among all the calls of its turn, from 0, in the
	// order in which they stand in Turn.Assistant.
	Index int
}

// Turn is what the model said in one round.
type Turn struct {
	// ID is the id that the provider gave the response, decoded; empty if none.
	ID string
	// Assistant is the turn in the form a request takes it, as one JSON value:
	// everything the model sent, thinking, signatures, encrypted reasoning and
	// all calls included, in order and in the provider's own bytes.
	//
	//   - Anthropic Messages: {"role":"assistant","content":[…]}
	//   - OpenAI Chat Completions: {"role":"assistant","content":…,"tool_calls":[…]}
	//   - OpenAI Responses: [item, …], to be put into input one by one. A
	//     reasoning item that holds nothing (neither encrypted content nor text)
	//     is left out: only a provider that keeps the history could read it.
	//   - Gemini: {"role":"model","parts":[…]}
	//   - Bedrock Converse: {"role":"assistant","content":[…]}
	//
	// Arguments that are not a JSON object stand as {"INVALID_JSON":"TEXT"}
	// where the dialect wants an object. Nil means that the turn could not be
	// put together (it was too large, or had a form nobody knows), so there can
	// be no further round.
	Assistant []byte
	// Ours are the calls of the expand tool, in order; Others are the calls that
	// the client has to answer. Calls of tools that run at the provider are in
	// neither.
	Ours, Others []Call
	// Text is the text that the client reads, decoded and joined.
	Text string
	// Signatures are the signatures of the turn's reasoning, decoded, in order:
	// Anthropic's signature and redacted data, Responses' encrypted_content,
	// Gemini's thoughtSignature.
	Signatures []string
	// Stop is the provider's own word for why the model stopped; empty if it
	// did not say.
	Stop string
	// Usage is what the provider reported for this round alone.
	Usage Usage
	// Complete is false when the response ended before the model's turn did. Its
	// last call may then be cut off.
	Complete bool
	// Failed is true when the provider sent an error in place of the rest of the
	// turn, or something unreadable.
	Failed bool
}

// Usage counts the tokens of a round, or of several. Input excludes both cache
// counts; Output includes reasoning.
type Usage struct {
	Input, CacheRead, CacheWrite, Output int64
}

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Output + v.Output}
}

// Result answers one call of ours.
type Result struct {
	Call Call
	// Text is what the model reads.
	Text string
	// Error says that Text tells why there is no original.
	Error bool
}
