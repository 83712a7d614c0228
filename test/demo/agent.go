package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	"github.com/contextguru/contextguru/test/stack"
	"github.com/contextguru/contextguru/test/stack/chat"
)

// step is one tool call the model makes.
type step struct{ say, command string }

// args is the JSON text of the call's arguments.
func (s step) args() string {
	// A string always has a JSON form.
	quoted, _ := json.Marshal(s.command)
	return `{"command":` + string(quoted) + `}`
}

// play runs one conversation: the agent sends its history, does what the model
// asks for, and sends the history again with the result, until the model has
// nothing more to ask.
func (d *demo) play(ctx context.Context, dialect chat.Dialect, model string, steps []step) error {
	d.s.LLM.SetScript(script(steps)...)
	d.p.title("%s, %s", map[chat.Dialect]string{chat.OpenAI: "OpenAI Chat Completions", chat.Anthropic: "Anthropic Messages"}[dialect], model)
	c := chat.New(dialect, model, "You are a coding agent. Use the tool to look before you answer.")
	c.User("Is this repository in good shape?")
	d.outputs = nil
	var last turn
	for {
		t, err := d.send(ctx, c, model, last)
		if err != nil {
			return err
		}
		said, calls, err := answer(dialect, t.reply.Body)
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			d.p.printf("the model answers: %s\n", said)
			return nil
		}
		c.Calls(said, calls...)
		for _, call := range calls {
			command, output, err := d.execute(ctx, call.Args, steps)
			if err != nil {
				return err
			}
			c.Results(chat.Result{ID: call.ID, Text: output})
			t.next, t.output = command, output
			d.outputs = append(d.outputs, output)
			d.commands[output] = command
		}
		last = t
	}
}

// execute runs a command of the script, and nothing else, in the repository.
// What a failing command prints is a result like any other.
func (d *demo) execute(ctx context.Context, args string, steps []step) (command, output string, err error) {
	var given struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal([]byte(args), &given); err != nil {
		return "", "", fmt.Errorf("read the arguments of a tool call: %w", err)
	}
	for _, step := range steps {
		if step.command != given.Command {
			continue
		}
		words := strings.Fields(given.Command)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = d.root
		out, err := cmd.CombinedOutput()
		if err != nil {
			if ctx.Err() != nil {
				return "", "", context.Cause(ctx)
			}
			out = fmt.Appendf(out, "%s: %v\n", words[0], err)
		}
		return given.Command, strings.ToValidUTF8(string(out), "\uFFFD"), nil
	}
	return "", "", fmt.Errorf("the model asks for %q, which is not in the script", given.Command)
}

// answer reads the assistant's message from a response.
func answer(dialect chat.Dialect, body []byte) (said string, calls []chat.Call, err error) {
	if dialect == chat.Anthropic {
		return anthropicAnswer(body)
	}
	var completion struct {
		Choices []struct {
			Message struct {
				Content   string `json:"content"`
				ToolCalls []struct {
					ID       string `json:"id"`
					Function struct {
						Name      string `json:"name"`
						Arguments string `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &completion); err != nil {
		return "", nil, fmt.Errorf("read the provider's answer: %w", err)
	}
	if len(completion.Choices) == 0 {
		return "", nil, fmt.Errorf("the provider answers without a choice: %.300s", body)
	}
	message := completion.Choices[0].Message
	for _, call := range message.ToolCalls {
		calls = append(calls, chat.Call{ID: call.ID, Name: call.Function.Name, Args: call.Function.Arguments})
	}
	return message.Content, calls, nil
}

func anthropicAnswer(body []byte) (said string, calls []chat.Call, err error) {
	var message struct {
		Content []struct {
			Type  string          `json:"type"`
			Text  string          `json:"text"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		} `json:"content"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return "", nil, fmt.Errorf("read the provider's answer: %w", err)
	}
	if len(message.Content) == 0 {
		return "", nil, fmt.Errorf("the provider answers without content: %.300s", body)
	}
	for _, block := range message.Content {
		switch block.Type {
		case "text":
			said += block.Text
		case "tool_use":
			calls = append(calls, chat.Call{ID: block.ID, Name: block.Name, Args: string(block.Input)})
		}
	}
	return said, calls, nil
}

// post sends a body through Envoy and returns the answer with what the provider
// received. header is one more header's name and value, if given.
func (d *demo) post(ctx context.Context, c *chat.Conversation, body []byte, replica int, header ...string) (*stack.Reply, []byte, error) {
	before := d.s.LLM.Count()
	call := stack.Call{Path: c.Path(), Body: body, Replica: replica, Header: credential(c.Dialect())}
	for i := 0; i+1 < len(header); i += 2 {
		call.Header[header[i]] = header[i+1]
	}
	reply, err := d.s.Do(ctx, call)
	if err != nil {
		return nil, nil, err
	}
	if reply.Status != http.StatusOK || d.s.LLM.Count() != before+1 {
		return nil, nil, fmt.Errorf("post %s: status %d: %.300s", c.Path(), reply.Status, reply.Body)
	}
	return reply, d.s.LLM.Last().Body, nil
}
