// Package converse splices Bedrock Converse. ConverseStream has a binary form
// of its own and is not spliced.
package converse

import (
	"bytes"
	"strings"

	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Body implements codec.Body.
type Body struct{}

func content(body []byte) []byte { return scan.Path(body, "output", "message", "content") }

func mine(block []byte, tool string) bool { return scan.Is(scan.Path(block, "toolUse", "name"), tool) }

// Read implements codec.Body.
func (Body) Read(body []byte, tool string) (round.Turn, bool) {
	list := content(body)
	if len(list) == 0 || list[0] != '[' {
		return round.Turn{}, false
	}
	var (
		t      round.Turn
		blocks [][]byte
		text   []byte
	)
	it := scan.Open(list, 0)
	for it.Next() {
		b := it.Value
		if inner := scan.Inner(scan.Path(b, "text")); inner != nil {
			s := scan.Text(inner)
			if text = append(text, s...); strings.TrimSpace(s) == "" {
				continue // answered with an error
			}
		}
		blocks = append(blocks, b)
		for _, path := range [][]string{
			{"reasoningContent", "reasoningText", "signature"}, {"reasoningContent", "redactedContent"},
		} {
			if sig := scan.Inner(scan.Path(b, path...)); len(sig) > 0 {
				t.Signatures = append(t.Signatures, scan.Text(sig))
			}
		}
		use := scan.Path(b, "toolUse")
		if use == nil || scan.Is(scan.Path(use, "type"), "server_tool_use") {
			continue
		}
		c := round.Call{
			ID:        scan.Text(scan.Inner(scan.Path(use, "toolUseId"))),
			Name:      scan.Text(scan.Inner(scan.Path(use, "name"))),
			Arguments: bytes.Clone(scan.Path(use, "input")),
			Index:     len(t.Ours) + len(t.Others),
		}
		if mine(b, tool) {
			t.Ours = append(t.Ours, c)
		} else {
			t.Others = append(t.Others, c)
		}
	}
	if it.Bad() {
		return round.Turn{}, false
	}
	t.Text = string(text)
	t.Assistant = append(scan.Join([]byte(`{"role":"assistant","content":`), blocks), '}')
	t.Stop = scan.Text(scan.Inner(scan.Path(body, "stopReason")))
	t.Usage = readUsage(scan.Path(body, "usage"))
	t.Complete = t.Stop != ""
	return t, true
}

func readUsage(value []byte) (u round.Usage) {
	number := func(name string) int64 {
		n, _ := scan.Int(scan.Path(value, name))
		return n
	}
	return round.Usage{
		Input: number("inputTokens"), Output: number("outputTokens"),
		CacheRead: number("cacheReadInputTokens"), CacheWrite: number("cacheWriteInputTokens"),
	}
}

// Merge implements codec.Body.
func (Body) Merge(bodies [][]byte, tool string, let bool) []byte {
	var (
		blocks [][]byte
		output int64
		last   = len(bodies) - 1
		merged = bodies[last]
	)
	for i, body := range bodies {
		it := scan.Open(content(body), 0)
		for it.Next() {
			if !mine(it.Value, tool) || let && i == last {
				blocks = append(blocks, it.Value)
			}
		}
		output += readUsage(scan.Path(body, "usage")).Output
	}
	merged = scan.SetPath(merged, scan.Join(nil, blocks), "output", "message", "content")
	if usage := scan.Path(merged, "usage"); last > 0 && !scan.IsNull(usage) {
		u := readUsage(usage)
		usage = scan.Set(usage, "outputTokens", scan.Number(0, 0, output).New)
		if total, ok := scan.Int(scan.Path(usage, "totalTokens")); ok {
			usage = scan.Set(usage, "totalTokens", scan.Number(0, 0, total-u.Output+output).New)
		}
		merged = scan.Set(merged, "usage", usage)
	}
	return merged
}
