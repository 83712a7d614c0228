package report

import (
	"strconv"
	"strings"
)

// Diff is one edit, before and after.
type Diff struct {
	Conversation string   `json:"conversation"`
	Dialect      string   `json:"dialect"`
	Output       int      `json:"output"`
	Tool         string   `json:"tool,omitempty"`
	Components   []string `json:"components"`
	Tokens       Pair     `json:"tokens"`
	Before       string   `json:"before"`
	After        string   `json:"after"`
}

// Bounds of what is shown of a text.
const (
	clipLines = 24
	clipBytes = 2000
)

// Clip shortens a text to its beginning and its end.
func Clip(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); n > clipLines {
		const half = clipLines / 2
		lines = append(append(lines[:half:half], "[… "+strconv.Itoa(n-2*half)+" lines …]\n"), lines[n-half:]...)
	}
	text = strings.Join(lines, "")
	if len(text) > clipBytes {
		const half = clipBytes / 2
		text = strings.ToValidUTF8(text[:half], "") + " [… " + strconv.Itoa(len(text)-2*half) + " bytes …] " + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	return text
}
