package models

import (
	"iter"
	"net/url"
	"strings"
)

// Vendors whose name the code needs.
const (
	amazon    = "amazon_nova"
	anthropic = "anthropic"
	azure     = "azure"
	bedrock   = "bedrock"
	deepseek  = "deepseek"
	gemini    = "gemini"
	mistral   = "mistral"
	moonshot  = "moonshot"
	openai    = "openai"
	vertex    = "vertex_ai"
	xai       = "xai"
	zai       = "zai"
)

// maker ties the beginning of model names to the provider who made them.
type maker struct{ prefix, provider string }

// makers returns the families of models that are sold by their maker and by
// others. The first prefix that fits counts.
func makers() [36]maker {
	return [...]maker{
		{"claude", anthropic},
		{"gpt-oss", ""}, // open weights that OpenAI does not serve
		{"gpt-", openai},
		{"ft:gpt-", openai},
		{"chatgpt", openai},
		{"codex", openai},
		{"o1", openai},
		{"o3", openai},
		{"o4", openai},
		{"ft:o", openai},
		{"computer-use", openai},
		{"gemini", gemini},
		{"gemma", gemini},
		{"glm", zai},
		{"kimi", moonshot},
		{"moonshot", moonshot},
		{"grok", xai},
		{"deepseek", deepseek},
		{"qwen", "dashscope"},
		{"qwq", "dashscope"},
		{"qvq", "dashscope"},
		{"mistral", mistral},
		{"codestral", mistral},
		{"devstral", mistral},
		{"magistral", mistral},
		{"ministral", mistral},
		{"mixtral", mistral},
		{"open-mi", mistral},
		{"pixtral", mistral},
		{"nova-", amazon},
		{"command", "cohere"},
		{"jamba", "ai21"},
		{"llama", "meta_llama"},
		{"minimax", "minimax"},
		{"muse", "meta"},
		{"sonar", "perplexity"},
	}
}

// makerOf returns the provider that made the model of a canonical name, or "".
func makerOf(name string) string {
	for _, m := range makers() {
		if strings.HasPrefix(name, m.prefix) {
			return m.provider
		}
	}
	return ""
}

// vendor returns a provider without what LiteLLM adds to tell APIs apart.
func vendor(provider string) string {
	provider, _, _ = strings.Cut(strings.TrimPrefix(provider, "text-completion-"), "-")
	provider = strings.TrimSuffix(provider, "_converse")
	return strings.TrimSuffix(provider, "_chat")
}

// tidy returns an id in lower case, without the escapes of a URL path, in
// which clients of Bedrock send theirs.
func tidy(model string) string {
	model = strings.TrimSpace(model)
	if strings.Contains(model, "%") {
		if plain, err := url.PathUnescape(model); err == nil {
			model = plain
		}
	}
	return strings.ToLower(model)
}

func lastSegment(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// canonical returns the name of a model under which its spellings meet: id is
// a last path segment in lower case.
func canonical(id string) string {
	id = dropVendor(dropRegion(id))
	if strings.ContainsAny(id, "._") {
		return strings.NewReplacer(".", "-", "_", "-").Replace(id)
	}
	return id
}

// reductions yields a last path segment in lower case, and then what is left
// of it after each part that does not name the model is taken away.
func reductions(id string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(id) {
			return
		}
		if base := dropRegion(id); base != id {
			id = base
			if !yield(id) {
				return
			}
		}
		for {
			head := dropSuffix(id)
			if head == "" {
				break
			}
			id = head
			if !yield(id) {
				return
			}
		}
		// A last word ends it: what precedes it may tell models apart, as in
		// gpt-4-0125-preview, which is not gpt-4.
		for _, word := range [...]string{"-latest", "-preview", "-exp"} {
			if head, ok := strings.CutSuffix(id, word); ok && head != "" {
				yield(head)
				return
			}
		}
	}
}

// dropRegion takes away the region of a Bedrock inference profile: two
// letters, two of the longer ones, or a part of the world.
func dropRegion(id string) string {
	region, rest, ok := strings.Cut(id, ".")
	name, _, qualified := strings.Cut(rest, ".")
	if !ok || !qualified || name == "" || !word(name) {
		return id
	}
	switch region {
	case "apac", "global", "us-gov":
		return rest
	}
	if len(region) == 2 && letters(region) {
		return rest
	}
	return id
}

// dropVendor takes away the vendor that ids of Bedrock begin with.
func dropVendor(id string) string {
	name, rest, ok := strings.Cut(id, ".")
	if ok && word(name) && rest != "" && isLetter(rest[0]) {
		return rest
	}
	return id
}

// dropSuffix takes one part away from the end, or returns "".
func dropSuffix(id string) string {
	if strings.HasSuffix(id, "]") {
		return id[:max(strings.LastIndexByte(id, '['), 0)]
	}
	if at := strings.LastIndexByte(id, '@'); at >= 0 {
		return id[:at]
	}
	if at := strings.LastIndexByte(id, ':'); at >= 0 && id[:at] != "ft" {
		return dropTag(id, at)
	}
	return dropDate(id)
}

// dropTag takes away a tag that is a word (:free), or the revision of a
// Bedrock id (-v1:0, -1:0, -v1:0:200k). A tag such as :8b names the model.
func dropTag(id string, at int) string {
	tag := id[at+1:]
	if tag != "" && isLetter(tag[0]) && strings.Trim(tag, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" {
		return id[:at]
	}
	head, revision, _ := strings.Cut(id, ":")
	if strings.Trim(revision, "0123456789:k") != "" {
		return ""
	}
	head, number := cutLast(head)
	if !digits(strings.TrimPrefix(number, "v")) || !strings.Contains(head, "-") {
		return "" // anthropic.claude-v2:1 is not "claude"
	}
	return head
}

// dropDate takes away a date or a revision number, in the forms in use.
func dropDate(id string) string {
	head, c := cutLast(id)
	if !digits(c) {
		return ""
	}
	before, b := cutLast(head)
	switch len(c) {
	case 8: // -20250929
		if year(c[:4]) && monthDay(c[4:]) {
			return head
		}
	case 6: // -251201
		if monthDay(c[2:]) {
			return head
		}
	case 4:
		if year(c) && month(b) { // -09-2025
			return before
		}
		if monthDay(c) || c[0] == '2' && month(c[2:]) { // -0613, -2411
			return head
		}
	case 3: // -001
		if c[0] == '0' {
			return head
		}
	case 2:
		if !month(b) || !monthDay(b+c) {
			return ""
		}
		if first, a := cutLast(before); year(a) { // -2025-08-07
			return first
		}
		return before // -05-06
	}
	return ""
}

// cutLast cuts before the last dash; without one there is no head.
func cutLast(id string) (head, last string) {
	dash := strings.LastIndexByte(id, '-')
	if dash < 0 {
		return "", id
	}
	return id[:dash], id[dash+1:]
}

func year(s string) bool     { return len(s) == 4 && digits(s) && s[:2] == "20" }
func month(s string) bool    { return len(s) == 2 && digits(s) && s >= "01" && s <= "12" }
func monthDay(s string) bool { return len(s) == 4 && month(s[:2]) && s[2:] >= "01" && s[2:] <= "31" }

func digits(s string) bool  { return s != "" && strings.Trim(s, "0123456789") == "" }
func letters(s string) bool { return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" }

// word reports letters and digits that begin with a letter.
func word(s string) bool {
	return s != "" && isLetter(s[0]) && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }
