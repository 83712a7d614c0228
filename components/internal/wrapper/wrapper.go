// Package wrapper knows what agent clients put around the output of a command:
// headers and trailers of their own, the exit status, reminders to the model.
//
// Components that judge or describe an output look at what is inside. Nothing
// here is cut out of what a model reads: reminders are instructions, and a
// status is part of the result.
package wrapper

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Output is the output of a command without its wrapping.
type Output struct {
	// Body is what the command itself wrote.
	Body string
	// Status is the exit status the wrapping tells of.
	Status int
	// HasStatus reports that it tells of one.
	HasStatus bool
	// StatusLine is the line that tells it, if it is a line of its own.
	StatusLine string
}

// Failed reports whether the wrapping says that the command failed.
func (o Output) Failed() bool { return o.HasStatus && o.Status != 0 }

const (
	contextOpen  = "<untrusted_context>"
	contextClose = "</untrusted_context>"
	pathOpen     = "<path>"
	fileOpen     = "<content>"
	fileClose    = "</content>"
	outputKey    = "Output:"
	// maxHeader is how many lines a header has at most, the longest known one
	// doubled.
	maxHeader = 10
	// maxJSON is the longest text that is read as JSON to find an output in it.
	maxJSON = 4 << 20
)

// Unwrap takes the wrapping off an output. Known are the header that ends in
// "Output:", the same between the tags of an untrusted context and with the
// status behind the output, a status on the first line, the tags around a file,
// JSON that holds the output as a string, and around any of them reminders.
// Anything else is all body.
func Unwrap(text string) Output {
	p := part{Output: Output{Body: text}}
	p.inside()
	p.object(maxObjects)
	return p.Output
}

// Parts returns what stands in front of the output of a command, the output and
// what stands behind it, which put together are the text. It returns false when
// the output stands in nothing, or in JSON.
func Parts(text string) (before, body, after string, ok bool) {
	p := part{Output: Output{Body: text}}
	p.inside()
	if len(p.Body) == len(text) {
		return "", text, "", false
	}
	p.trim()
	return text[:p.start], p.Body, text[p.start+len(p.Body):], true
}

// part is an output with its place in the text.
type part struct {
	Output

	start int
}

// front makes a suffix of the body the body.
func (p *part) front(suffix string) {
	p.start += len(p.Body) - len(suffix)
	p.Body = suffix
}

// trim takes white space off both ends.
func (p *part) trim() {
	p.front(strings.TrimLeft(p.Body, " \t\r\n"))
	p.Body = strings.TrimRight(p.Body, " \t\r\n")
}

// inside takes off everything but JSON.
func (p *part) inside() {
	p.reminders()
	trimmed := strings.TrimSpace(p.Body)
	switch {
	case strings.HasPrefix(trimmed, contextOpen):
		p.trim()
		p.front(p.Body[len(contextOpen):])
		p.Body = strings.TrimSuffix(p.Body, contextClose)
		p.trim()
		p.trailer()
		p.header()
	case strings.HasPrefix(trimmed, pathOpen):
		p.file()
	case strings.HasPrefix(trimmed, "Exit code "):
		if first, _, _ := strings.Cut(trimmed, "\n"); p.status(first) {
			p.trim()
			_, rest, _ := strings.Cut(p.Body, "\n")
			p.front(rest)
		}
	default:
		p.header()
	}
}

// reminders takes off those an output begins or ends with.
func (p *part) reminders() {
	if !strings.Contains(p.Body, reminderOpen) {
		return
	}
	p.front(SkipReminders(p.Body))
	for {
		trimmed := strings.TrimRight(p.Body, " \t\r\n")
		if !strings.HasSuffix(trimmed, reminderClose) {
			return
		}
		at := strings.LastIndex(trimmed, reminderOpen)
		if at < 0 {
			return
		}
		p.Body = p.Body[:at]
	}
}

// file takes off the tags around a file that was read.
func (p *part) file() {
	const maxTags = 4096
	at := strings.Index(p.Body[:min(len(p.Body), maxTags)], fileOpen)
	end := strings.LastIndex(p.Body, fileClose)
	if at < 0 || end < at+len(fileOpen) {
		return
	}
	p.Body = p.Body[:end]
	p.front(p.Body[at+len(fileOpen):])
	p.trim()
}

// header takes off the lines up to "Output:", if there is nothing but keys in
// front of it.
func (p *part) header() {
	inner := *p
	rest := strings.TrimLeft(p.Body, "\r\n")
	for range maxHeader {
		if body, ok := strings.CutPrefix(rest, outputKey); ok {
			inner.front(strings.TrimLeft(body, " \r\n"))
			*p = inner
			return
		}
		line, after, more := strings.Cut(rest, "\n")
		if !more || !inner.status(line) && !isKey(line) {
			return
		}
		rest = after
	}
}

// trailer takes off the lines behind the output that tell how it ended.
func (p *part) trailer() {
	for range maxHeader {
		at := strings.LastIndexByte(p.Body, '\n')
		line := p.Body[at+1:]
		if !p.status(line) && !isKey(line) {
			return
		}
		p.Body = p.Body[:max(at, 0)]
	}
}

// status reads a line that tells the exit status.
func (o *Output) status(line string) bool {
	line = strings.TrimSpace(line)
	for _, key := range []string{"Process exited with code ", "Exit code: ", "Exit Code: ", "Exit code "} {
		number, ok := strings.CutPrefix(line, key)
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(number); err == nil {
			o.Status, o.HasStatus, o.StatusLine = n, true, line
			return true
		}
	}
	return false
}

// isKey reports whether a line is one of a header or trailer that says nothing
// about the output.
func isKey(line string) bool {
	for _, key := range []string{
		"Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: ",
		"Command: ", "Directory: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", "Error: (none)",
	} {
		if strings.HasPrefix(line, key) {
			return true
		}
	}
	return false
}

// maxObjects is how many objects deep an output is looked for: that of a command
// in the text of an MCP result.
const maxObjects = 2

// object reads an output from JSON.
func (o *Output) object(levels int) {
	text := strings.TrimSpace(o.Body)
	if levels == 0 || !strings.HasPrefix(text, "{") || len(text) > maxJSON {
		return
	}
	type status struct {
		Snake *int `json:"exit_code"`
		Camel *int `json:"exitCode"`
	}
	var v struct {
		status
		Output   *string         `json:"output"`
		Stdout   *string         `json:"stdout"`
		Stderr   *string         `json:"stderr"`
		Content  json.RawMessage `json:"content"`
		IsError  bool            `json:"isError"`
		Metadata status          `json:"metadata"`
	}
	if json.Unmarshal([]byte(text), &v) != nil {
		return
	}
	var parts []string
	for _, part := range append([]*string{v.Output, v.Stdout, v.Stderr}, texts(v.Content)...) {
		if part != nil && *part != "" {
			parts = append(parts, *part)
		}
	}
	if parts == nil && v.Output == nil && v.Stdout == nil {
		return
	}
	o.Body = strings.Join(parts, "\n")
	o.object(levels - 1)
	for _, n := range []*int{v.Snake, v.Camel, v.Metadata.Snake, v.Metadata.Camel} {
		if n != nil {
			o.Status, o.HasStatus = *n, true
		}
	}
	if v.IsError && !o.Failed() {
		o.Status, o.HasStatus = 1, true
	}
}

// texts returns the texts of a content: a string, or blocks with texts.
func texts(content json.RawMessage) []*string {
	var one string
	if json.Unmarshal(content, &one) == nil {
		return []*string{&one}
	}
	var blocks []struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var all []*string
	for _, b := range blocks {
		all = append(all, b.Text)
	}
	return all
}
