package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"

	"github.com/contextguru/contextguru/test/fakellm"
	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// liveConfig lets context-guru answer the model itself, in small conversations, too.
const liveConfig = "expand: {gate_tokens: 0}\n"

// liveCommand prints what the model will ask for: long enough to be cut, short
// enough to be read at once (expand.window_bytes), and the same wherever there is
// this Go, with or without a history of the repository.
const liveCommand = "go doc -all time"

var idForm = regexp.MustCompile(`cg:([a-z2-7]{20})`)

// live shows a model that reads an original in the middle of a streamed answer.
func live(ctx context.Context, d *demo, redis bool) error {
	d.p.title("The model asks for an original, live in a stream")
	opts := []stack.Option{stack.WithLoop(), stack.WithConfig(liveConfig)}
	if redis {
		opts = append(opts, stack.WithRedis(stack.RedisOptions{}), stack.WithConfig(liveConfig+patient))
	}
	s, err := stack.Start(ctx, opts...)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // what is left running is reported by the first stack, too
	words := strings.Fields(liveCommand)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = d.root
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w", liveCommand, err)
	}
	text := strings.ToValidUTF8(string(output), "\uFFFD")
	body := liveBody(text)

	// The first request only tells which marker the output gets.
	if _, err := stream(ctx, s, body, nil); err != nil {
		return err
	}
	plain := s.LLM.Last().Body
	found := idForm.FindSubmatch(plain)
	if found == nil {
		d.check("the output was replaced by a marker", errors.New("none was"))
		return nil
	}
	id := string(found[1])
	s.LLM.SetScript(
		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Let me see all of it. "), fakellm.Tool("context_guru_expand", `{"id":"`+id+`"}`)}},
		fakellm.Turn{Blocks: []fakellm.Block{fakellm.Text("Now I have read every line of it.")}},
	)
	before := s.LLM.Count()
	d.p.printf("  what the client sees, event by event:\n")
	raw, err := stream(ctx, s, body, func(event string) { d.p.printf("  | %s\n", d.p.style("2", clip(said(event)))) })
	if err != nil {
		return err
	}
	requests := s.LLM.Requests()[before:]
	if len(requests) != 2 {
		d.check("the answer took two rounds", fmt.Errorf("it took %d", len(requests)))
		return nil
	}
	d.p.printf("  what the provider saw: a request of %s bytes instead of %s, answered with context_guru_expand(%s),\n", group(len(requests[0].Body)), group(len(body)), id)
	d.p.printf("  and one of %s bytes that goes on with the %s bytes of %q\n", group(len(requests[1].Body)), group(len(text)), liveCommand)
	quoted, _ := json.Marshal(text) // a string always has a JSON form
	d.check("the model got the original, byte for byte", present(decoded(requests[1].Body), string(quoted)))
	d.check("the second request begins with the first, so the provider's cache holds", chat.Prefix(requests[0].Body, requests[1].Body))
	d.check("the client sees nothing of it", absent(raw, "context_guru", id))
	return nil
}

// said is what an event adds to the message; the event itself when it adds nothing.
func said(event string) string {
	var chunk struct {
		Choices []struct {
			Delta  json.RawMessage `json:"delta"`
			Finish string          `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal([]byte(event), &chunk) != nil || len(chunk.Choices) == 0 {
		return event
	}
	if c := chunk.Choices[0]; c.Finish != "" {
		return "finish_reason " + c.Finish
	}
	return "delta " + string(chunk.Choices[0].Delta)
}

// decoded spells a body's strings as this program does.
func decoded(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	again, _ := json.Marshal(v)
	return string(again)
}

func present(where, what string) error {
	if !strings.Contains(where, what) {
		return errors.New("it is not there")
	}
	return nil
}

func absent(where string, what ...string) error {
	for _, w := range what {
		if strings.Contains(where, w) {
			return fmt.Errorf("%q is there", w)
		}
	}
	return nil
}

// liveBody is a streamed request whose history holds one output.
func liveBody(output string) []byte {
	quoted, _ := json.Marshal(output)
	return fmt.Appendf(nil, `{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"How do I measure time?"},`+
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"run","arguments":"{\"command\":\"`+liveCommand+`\"}"}}]},`+
		`{"role":"tool","tool_call_id":"call_1","content":%s}],"tools":[{"type":"function","function":{"name":"run","parameters":{"type":"object"}}}]}`, quoted)
}

// stream sends a request and gives the text of each event to each as it comes.
func stream(ctx context.Context, s *stack.Stack, body []byte, each func(text string)) (raw string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+chat.OpenAI.Path(), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+stack.Credential)
	reply, err := s.Client(stack.H1).Do(req)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close() //nolint:errcheck // it was read to its end
	if reply.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", reply.StatusCode)
	}
	var all strings.Builder
	lines := bufio.NewReader(io.TeeReader(reply.Body, &all))
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && each != nil {
			each(data)
		}
		if errors.Is(err, io.EOF) {
			return all.String(), nil
		}
		if err != nil {
			return "", err
		}
	}
}
