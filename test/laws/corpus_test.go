package laws_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/pipelinetest"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// TestCorpus holds the product to the laws on real conversations: a folder of
// folders of files ID.openai.json and ID.anthropic.json, each the last request
// of its conversation.
func TestCorpus(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CONTEXT_GURU_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "data", "transcripts")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skip("no conversations in", root)
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string][]conversation{}
	var order []string
	for _, name := range files {
		set := filepath.Base(filepath.Dir(name))
		c, ok := load(t, name)
		if !ok {
			continue
		}
		if sets[set] == nil {
			order = append(order, set)
		}
		sets[set] = append(sets[set], c)
	}
	if len(order) == 0 {
		t.Fatalf("no conversation in %s", root)
	}
	table := []string{heading()}
	defaults, all := steps(t, nil), steps(t, eager())
	for _, set := range order {
		sum, greedy := newTally(set), newTally(set+" eager")
		t.Run(set, func(t *testing.T) {
			for i, c := range sets[set] {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					judged := try(t, parts{steps: defaults}, c, uint64(i))
					report(t, c, judged.found)
					sum.add(judged)
					judged = try(t, parts{steps: all, horizon: 4000}, c, uint64(i))
					report(t, c, judged.found)
					greedy.add(judged)
				})
			}
		})
		table = append(table, sum.row(), greedy.row())
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// load reads the requests of a conversation, and returns false for a format
// that is none of ours.
func load(t *testing.T, name string) (conversation, bool) {
	t.Helper()
	c := conversation{name: filepath.Base(name)}
	switch {
	case strings.HasSuffix(name, ".openai.json"):
		c.dialect = wire.OpenAIChat
	case strings.HasSuffix(name, ".anthropic.json"):
		c.dialect = wire.AnthropicMessages
	default:
		return c, false
	}
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var request struct{ Model string }
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c.model = request.Model
	if c.requests, err = cut(body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	// Another reader of the same rule has to agree.
	if others, err := pipelinetest.Requests(body); err != nil || len(others) != len(c.requests) ||
		!bytes.Equal(bytes.Join(others, nil), bytes.Join(c.requests, nil)) {
		t.Fatalf("%s: %d requests, or %d (%v)", name, len(c.requests), len(others), err)
	}
	return c, true
}

// cut takes the last request of a conversation apart: request t ends in front
// of the t-th run of assistant messages.
func cut(body []byte) (requests [][]byte, err error) {
	messages, start, err := list(body)
	if err != nil {
		return nil, err
	}
	s := scan(append(bytes.Clone(messages), ']'))
	if _, err := s.next(); err != nil {
		return nil, err
	}
	rest := body[start+len(messages):]
	assistant := false
	for end := 0; s.dec.More(); end = s.end {
		before := s.end
		if err := s.skip(); err != nil {
			return nil, err
		}
		var m struct{ Role string }
		if err := json.Unmarshal(bytes.TrimLeft(messages[before:s.end], ", \t\r\n"), &m); err != nil {
			return nil, err
		}
		was := assistant
		if assistant = m.Role == "assistant"; assistant && !was && end > 0 {
			requests = append(requests, bytes.Join([][]byte{body[:start+end], rest}, nil))
		}
	}
	if !assistant {
		requests = append(requests, body)
	}
	return requests, nil
}
