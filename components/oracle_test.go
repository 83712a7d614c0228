package components_test

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// sameText is what every lossless edit keeps, judged from outside: the same
// JSON, or the same text on a terminal once headings are put back in front of
// what is indented below them.
func sameText(before, after string) error {
	return pipelinetest.InStrings(sameLines)(before, after)
}

func sameLines(before, after string) error {
	if pipelinetest.SameJSON(before, after) == nil {
		return nil
	}
	was := shown(before)
	for _, now := range []string{after, unfold(after), unlist(after)} {
		if shown(now) == was {
			return nil
		}
	}
	return fmt.Errorf("%.300q is neither the same JSON nor shown like %.300q", after, before)
}

var (
	toStart = regexp.MustCompile(`\x1b\[[01]?G`)
	erase   = regexp.MustCompile(`\x1b\[[02]?K`)
	eraseUp = regexp.MustCompile(`.*\x1b\[2K`)
	codes   = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x00-\x1f]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x00-\x1f]*\x1b\\|\x1b[()*+]B|\x1b%G|\x1b[=>7MDEc]`)
)

// shown is roughly what a terminal shows: of what was drawn on one line, the
// last that was not blank or that erased, without codes and blanks.
func shown(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if strings.ContainsAny(line, "\x1b\r") {
			last := ""
			for part := range strings.SplitSeq(toStart.ReplaceAllString(line, "\r"), "\r") {
				now := codes.ReplaceAllString(eraseUp.ReplaceAllString(part, ""), "")
				if strings.TrimSpace(now) != "" || erase.MatchString(part) || len(now) >= len(last) && now != "" {
					last = now
				}
			}
			line = last
		}
		b.WriteString(strings.ReplaceAll(line, " ", ""))
		b.WriteByte('\n')
	}
	return b.String()
}

// heading is a line that lines indented below it may continue.
var heading = regexp.MustCompile(`^[^ \t]*[/\\]|^[^ \t]*\.[^ \t]*$`)

// unfold puts the headings of files and directories back in front of the lines
// below them.
func unfold(folded string) string {
	var out strings.Builder
	dir, file := "", ""
	lines := strings.SplitAfter(folded, "\n")
	for i, line := range lines {
		text := strings.TrimRight(line, "\r\n")
		next := "x"
		if i+1 < len(lines) && lines[i+1] != "" {
			next = lines[i+1][:1]
		}
		switch {
		case file != "" && strings.HasPrefix(text, "\t"):
			sign := ":"
			if rest := strings.TrimLeft(text[1:], "0123456789"); len(rest) < len(text)-1 && strings.HasPrefix(rest, "-") {
				sign = "-"
			}
			if text != "\t--" {
				out.WriteString(file + sign)
			}
			out.WriteString(line[1:])
		case dir != "" && strings.HasPrefix(text, " "):
			if file = ""; strings.HasSuffix(text, ":") && next == "\t" {
				file = dir + text[1:len(text)-1]
				continue
			}
			if text != " --" {
				out.WriteString(dir)
			}
			out.WriteString(line[1:])
		case file != "" && len(text) > len(file)+1 && strings.HasPrefix(text, file) && strings.ContainsAny(text[len(file):len(file)+1], ":-"):
			out.WriteString(line)
		case heading.MatchString(text) && strings.HasSuffix(text, ":") && next == "\t":
			dir, file = "", text[:len(text)-1]
		case heading.MatchString(text) && strings.ContainsAny(text[len(text)-1:], `/\`) && next == " ":
			dir, file = text, ""
		default:
			if dir == "" || !strings.HasPrefix(line, dir) {
				dir, file = "", ""
			}
			out.WriteString(line)
		}
	}
	return out.String()
}

// unlist puts the first heading of a listing back into those below it, and then
// the others.
func unlist(folded string) string {
	first := regexp.MustCompile(`(?m)^(\S.*/.*):\r?$`).FindStringSubmatch(folded)
	if first == nil {
		return folded
	}
	return unfold(regexp.MustCompile(`(?m)^\.(/.*:\r?)$`).ReplaceAllString(folded, strings.ReplaceAll(first[1], "$", "$$")+"$1"))
}
