package gemini

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// part is what of a part decides.
type part struct {
	call      []byte // functionCall
	name      []byte // of the call
	more      bool   // the call goes on in the next part
	text      []byte // in the spelling of its string
	thought   bool
	signature []byte // in the spelling of its string
	members   int
}

func read(value []byte) (p part) {
	it := scan.Open(value, 0)
	for it.Next() {
		p.members++
		switch string(it.Name) {
		case "functionCall":
			p.call = it.Value
			p.name = scan.Path(p.call, "name")
			p.more = string(scan.Path(p.call, "willContinue")) == "true"
		case "text":
			p.text = scan.Inner(it.Value)
		case "thought":
			p.thought = string(it.Value) == "true"
		case "thoughtSignature", "thought_signature":
			p.signature = scan.Inner(it.Value)
		}
	}
	return p
}

func (p *part) named(tool string) bool { return scan.Is(p.name, tool) }

// empty reports whether there is only a text without characters in it.
func (p *part) empty() bool {
	return p.members == 0 || p.text != nil && len(p.text) == 0 && (p.members == 1 || p.members == 2 && p.thought)
}

// turn collects the parts of a round.
type turn struct {
	parts        []byte // with commas between them
	ours, others []round.Call
	text         []byte // decoded
	signatures   []string
}

// add takes a part and its bytes, of which it keeps a copy.
func (t *turn) add(p *part, value []byte, mine bool) {
	if p.empty() {
		return // answered with an error
	}
	if t.parts != nil {
		t.parts = append(t.parts, ',')
	}
	t.parts = append(t.parts, value...)
	if len(p.signature) > 0 {
		t.signatures = append(t.signatures, scan.Text(p.signature))
	}
	if !p.thought {
		t.text = scan.AppendText(t.text, p.text)
	}
	if p.call == nil {
		return
	}
	c := round.Call{
		ID:        scan.Text(scan.Inner(scan.Path(p.call, "id"))),
		Name:      scan.Text(scan.Inner(p.name)),
		Arguments: bytes.Clone(scan.Path(p.call, "args")),
		Index:     len(t.ours) + len(t.others),
	}
	if mine {
		t.ours = append(t.ours, c)
	} else {
		t.others = append(t.others, c)
	}
}

func (t *turn) result() round.Turn {
	return round.Turn{
		Assistant: append(append([]byte(`{"role":"model","parts":[`), t.parts...), "]}"...),
		Ours:      t.ours, Others: t.others, Text: string(t.text), Signatures: t.signatures,
	}
}

// tokens are counts as the API has them.
type tokens struct{ prompt, candidates, thoughts int64 }

// plus adds the tokens of a later round: its prompt holds those before.
func (t tokens) plus(u tokens) tokens {
	if u.prompt == 0 {
		u.prompt = t.prompt
	}
	return tokens{u.prompt, t.candidates + u.candidates, t.thoughts + u.thoughts}
}

func readUsage(value []byte) (u round.Usage, t tokens) {
	it := scan.Open(value, 0)
	for it.Next() {
		n, ok := scan.Int(it.Value)
		if !ok {
			continue
		}
		switch string(it.Name) {
		case "promptTokenCount":
			t.prompt = n
		case "candidatesTokenCount":
			t.candidates = n
		case "thoughtsTokenCount":
			t.thoughts = n
		case "cachedContentTokenCount":
			u.CacheRead = n
		}
	}
	u.Input = max(0, t.prompt-u.CacheRead)
	u.Output = t.candidates + t.thoughts
	return u, t
}

// mergeUsage returns the usage of the last round with the output of all.
func mergeUsage(value []byte, all tokens) []byte {
	prompt, _ := scan.Int(scan.Path(value, "promptTokenCount"))
	extra, _ := scan.Int(scan.Path(value, "toolUsePromptTokenCount"))
	value = scan.Set(value, "candidatesTokenCount", scan.Number(0, 0, all.candidates).New)
	if all.thoughts > 0 {
		value = scan.Set(value, "thoughtsTokenCount", scan.Number(0, 0, all.thoughts).New)
	}
	if scan.Path(value, "totalTokenCount") != nil {
		value = scan.Set(value, "totalTokenCount", scan.Number(0, 0, prompt+extra+all.candidates+all.thoughts).New)
	}
	return value
}

// Body implements codec.Body.
type Body struct{}

// answer returns the only candidate of a body; false if there is not exactly one.
func answer(body []byte) (candidate []byte, ok bool) {
	it := scan.Open(scan.Path(body, "candidates"), 0)
	for it.Next() {
		if candidate != nil {
			return nil, false
		}
		candidate = it.Value
	}
	return candidate, candidate != nil && !it.Bad()
}

// Read implements codec.Body.
func (Body) Read(body []byte, tool string) (round.Turn, bool) {
	candidate, ok := answer(body)
	if !ok {
		return round.Turn{}, false
	}
	var t turn
	it := scan.Open(scan.Path(candidate, "content", "parts"), 0)
	for it.Next() {
		p := read(it.Value)
		t.add(&p, it.Value, p.named(tool))
	}
	r := t.result()
	r.ID = scan.Text(scan.Inner(scan.Path(body, "responseId")))
	r.Stop = scan.Text(scan.Inner(scan.Path(candidate, "finishReason")))
	r.Usage, _ = readUsage(scan.Path(body, "usageMetadata"))
	r.Complete = r.Stop != ""
	return r, true
}

// Merge implements codec.Body.
func (Body) Merge(bodies [][]byte, tool string, let bool) []byte {
	var (
		parts [][]byte
		all   tokens
		last  = len(bodies) - 1
	)
	for i, body := range bodies {
		candidate, _ := answer(body)
		it := scan.Open(scan.Path(candidate, "content", "parts"), 0)
		for it.Next() {
			if p := read(it.Value); !p.named(tool) || let && i == last {
				parts = append(parts, it.Value)
			}
		}
		_, t := readUsage(scan.Path(body, "usageMetadata"))
		all = all.plus(t)
	}
	merged := bodies[last]
	candidate, _ := answer(merged)
	if parts != nil {
		content := scan.Path(candidate, "content")
		if content == nil {
			content = []byte(`{"role":"model"}`)
		}
		candidate = scan.Set(candidate, "content", scan.Set(content, "parts", scan.Join(nil, parts)))
		merged = scan.Set(merged, "candidates", scan.Join(nil, [][]byte{candidate}))
	}
	if last == 0 {
		return merged
	}
	if usage := scan.Path(merged, "usageMetadata"); !scan.IsNull(usage) {
		merged = scan.Set(merged, "usageMetadata", mergeUsage(usage, all))
	}
	for _, name := range []string{"responseId", "modelVersion"} {
		if value := scan.Path(bodies[0], name); value != nil {
			merged = scan.Set(merged, name, value)
		}
	}
	return merged
}
