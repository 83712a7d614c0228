package tokens

import "strings"

// Names of the encodings.
const (
	// O200kBase is the encoding of GPT-4o and everything after it.
	O200kBase = "o200k_base"
	// CL100kBase is the encoding of GPT-3.5, GPT-4 and the embedding models.
	CL100kBase = "cl100k_base"
)

// Encoding names how a model turns text into tokens.
type Encoding struct {
	// Name is O200kBase or CL100kBase.
	Name string
	// Approximate is true when the model does not use that encoding itself:
	// its own is not public or not known, and this one stands in.
	Approximate bool
}

// EncodingFor returns the encoding of a model. It takes a name as clients and
// gateways write it: in any case, behind a path or a vendor ("openai/gpt-4o",
// "openai.gpt-oss-120b"), fine-tuned ("ft:gpt-4o:org::id"), dated
// ("gpt-4.1-2025-04-14") or in Azure's spelling ("gpt-35-turbo"). A model it
// does not know gets O200kBase, marked Approximate.
func EncodingFor(model string) Encoding {
	name := strings.ToLower(strings.TrimSpace(model))
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.TrimPrefix(name, "openai.")
	name = strings.TrimPrefix(name, "ft:")
	for _, f := range families() {
		if rest, ok := strings.CutPrefix(name, f.prefix); ok && (f.open || ends(rest)) {
			return Encoding{Name: f.encoding}
		}
	}
	return Encoding{Name: O200kBase, Approximate: true}
}

// family is a prefix of model names; open ones may go on with anything, the
// others must end there or go on with a separator.
type family struct {
	prefix   string
	open     bool
	encoding string
}

// families lists the models with a public encoding, as the tables of
// pkoukk/tiktoken-go v0.1.8 and openai/tiktoken 0.14.0 have them, and their
// relatives: the codex line, gpt-oss (whose o200k_harmony adds only special
// tokens) and what later numbers will most likely be. The first match counts.
func families() []family {
	return []family{
		{prefix: "gpt-4o", encoding: O200kBase},
		{prefix: "chatgpt-4o", encoding: O200kBase},
		{prefix: "gpt-4.", open: true, encoding: O200kBase}, // gpt-4.1, gpt-4.5
		{prefix: "gpt-5", open: true, encoding: O200kBase},
		{prefix: "gpt-oss", encoding: O200kBase},
		{prefix: "codex", encoding: O200kBase},
		{prefix: "o1", encoding: O200kBase},
		{prefix: "o3", encoding: O200kBase},
		{prefix: "o4", encoding: O200kBase},
		{prefix: "gpt-4", encoding: CL100kBase},
		{prefix: "gpt-3.5", encoding: CL100kBase},
		{prefix: "gpt-35", encoding: CL100kBase},
		{prefix: "text-embedding-ada", encoding: CL100kBase},
		{prefix: "text-embedding-3", encoding: CL100kBase}, // text-embedding-004 and 005 are Google's
		{prefix: "davinci-002", encoding: CL100kBase},
		{prefix: "babbage-002", encoding: CL100kBase},
	}
}

// ends reports whether a model name is complete before rest.
func ends(rest string) bool {
	return rest == "" || strings.IndexByte("-:@._", rest[0]) >= 0
}
