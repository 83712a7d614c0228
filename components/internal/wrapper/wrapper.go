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
	outputKey    = "Output:"
	// maxHeader is how many lines a header has at most, the longest known one
	// doubled.
	maxHeader = 10
	// maxJSON is the longest text that is read as JSON to find an output in it.
	maxJSON = 4 << 20
)

// Unwrap takes the wrapping off an output. Known are the header that ends in
// "Output:", the same between the tags of an untrusted context and with the
// status behind the output, a status on the first line, and JSON that holds
// the output as a string. Anything else is all body.
func Unwrap(text string) Output {
	o := Output{Body: text}
	trimmed := strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(trimmed, contextOpen); ok {
		o.Body = strings.TrimSpace(strings.TrimSuffix(inside, contextClose))
		o.trailer()
		o.header()
		return o
	}
	switch {
	case strings.HasPrefix(trimmed, "{") && len(trimmed) <= maxJSON:
		o.object(trimmed)
	case strings.HasPrefix(trimmed, "Exit code "):
		first, rest, _ := strings.Cut(trimmed, "\n")
		if o.status(first) {
			o.Body = rest
		}
	default:
		o.header()
	}
	return o
}

// header takes off the lines up to "Output:", if there is nothing but keys in
// front of it.
func (o *Output) header() {
	inner := *o
	rest := strings.TrimLeft(o.Body, "\r\n")
	for range maxHeader {
		if body, ok := strings.CutPrefix(rest, outputKey); ok {
			inner.Body = strings.TrimLeft(body, " \r\n")
			*o = inner
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
func (o *Output) trailer() {
	for range maxHeader {
		at := strings.LastIndexByte(o.Body, '\n')
		line := o.Body[at+1:]
		if !o.status(line) && !isKey(line) {
			return
		}
		o.Body = o.Body[:max(at, 0)]
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

// object reads an output from JSON.
func (o *Output) object(text string) {
	type status struct {
		Snake *int `json:"exit_code"`
		Camel *int `json:"exitCode"`
	}
	var v struct {
		status

		Output   *string `json:"output"`
		Stdout   *string `json:"stdout"`
		Stderr   *string `json:"stderr"`
		Metadata status  `json:"metadata"`
	}
	if json.Unmarshal([]byte(text), &v) != nil || v.Output == nil && v.Stdout == nil {
		return
	}
	var parts []string
	for _, part := range []*string{v.Output, v.Stdout, v.Stderr} {
		if part != nil && *part != "" {
			parts = append(parts, *part)
		}
	}
	o.Body = strings.Join(parts, "\n")
	for _, n := range []*int{v.Snake, v.Camel, v.Metadata.Snake, v.Metadata.Camel} {
		if n != nil {
			o.Status, o.HasStatus = *n, true
		}
	}
}

const (
	reminderOpen  = "<system-reminder>"
	reminderClose = "</system-reminder>"
)

// Reminders returns what a client has put into an output for the model to heed,
// tags included, in order. A tag that is never closed is plain text.
func Reminders(text string) []string {
	var all []string
	for {
		start := strings.Index(text, reminderOpen)
		if start < 0 {
			return all
		}
		n := strings.Index(text[start:], reminderClose)
		if n < 0 {
			return all
		}
		end := start + n + len(reminderClose)
		all = append(all, text[start:end])
		text = text[end:]
	}
}

// SkipReminders returns a text without the reminders it begins with.
func SkipReminders(text string) string {
	for {
		trimmed := strings.TrimLeft(text, " \t\r\n")
		if !strings.HasPrefix(trimmed, reminderOpen) {
			return text
		}
		_, after, ok := strings.Cut(trimmed, reminderClose)
		if !ok {
			return text
		}
		text = after
	}
}
