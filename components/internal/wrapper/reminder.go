package wrapper

import "strings"

const (
	// ReminderName is what the tags of reminders are called.
	ReminderName  = "system-reminder"
	reminderTag   = "<" + ReminderName
	reminderOpen  = reminderTag + ">"
	reminderClose = "</system-reminder>"
)

// Reminders returns what a client has put into an output for the model to heed,
// tags included, in order and each once. A tag that is never closed is plain text.
func Reminders(text string) []string {
	var all []string
	seen := map[string]bool{}
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
		if reminder := text[start:end]; !seen[reminder] {
			seen[reminder] = true
			all = append(all, reminder)
		}
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

// ReminderLines finds the lines of reminders in a text that is read line by line,
// from the first one on.
type ReminderLines struct{ open bool }

// Holds reports whether a line holds a part of a reminder. One without an end
// reaches to the end of the text.
func (r *ReminderLines) Holds(line string) bool {
	held := r.open
	for {
		tag := reminderTag
		if r.open {
			tag = reminderClose
		}
		i := strings.Index(line, tag)
		if i < 0 {
			return held
		}
		held, r.open = true, !r.open
		line = line[i+len(tag):]
	}
}

// RefersBack reports whether an output is a client's own answer that a file is
// as an earlier output shows it.
func RefersBack(text string) bool {
	const maxAnswer = 512
	text = SkipReminders(text)
	if at := strings.Index(text, reminderTag); at >= 0 {
		text = text[:at]
	}
	return len(text) <= maxAnswer && strings.Contains(strings.ToLower(text), "unchanged since")
}
