package exact

import "strings"

const (
	// logLines and logBytes bound how much of a text is read to tell a log.
	logLines = 200
	logBytes = 64 << 10
	// minLogLines is how many lines have to be entries for it to be one, and
	// logShare the reciprocal of the share that has to: traces run over many lines.
	minLogLines = 5
	logShare    = 3
)

// IsLog reports whether a text is a log, judged by its first lines: a third of
// those that are not blank begin with a time or a level, behind the number of
// the line where a client put one in front. Source code and prose do not.
func IsLog(text string) bool {
	lines, entries := 0, 0
	for raw := range strings.Lines(text[:min(len(text), logBytes)]) {
		if strings.TrimSpace(raw) == "" {
			continue
		}
		if lines++; isEntry(raw) {
			entries++
		}
		if lines == logLines {
			break
		}
	}
	return entries >= minLogLines && entries*logShare >= lines
}

// isEntry reports whether a line begins an entry of a log.
func isEntry(raw string) bool {
	raw = strings.TrimLeft(raw, " \t")
	if beginsEntry(raw) {
		return true
	}
	if lineNumber(raw) < 0 {
		return false
	}
	raw = strings.TrimLeft(raw, "0123456789")
	return beginsEntry(strings.TrimLeft(raw, " \t:|→"))
}

func beginsEntry(s string) bool {
	s = strings.TrimLeft(s, `[({"`)
	switch {
	case s == "":
		return false
	case shaped(s, "0000-00-00"), shaped(s, "0000/00/00"):
		// A date alone is a column of a table.
		s = s[len("0000-00-00"):]
		return len(s) > 1 && (s[0] == ' ' || s[0] == 'T') && isDigit(s[1])
	case shaped(s, "00:00:00"), shaped(s, "Aaa 00 00:00:00"), shaped(s, "Aaa  0 00:00:00"), shaped(s, "00/Aaa/0000:00:00"):
		return true
	}
	n := 0
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	if n == len(s) {
		return false
	}
	switch s[:n] {
	case "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL":
		return strings.IndexByte(" \t:]|,", s[n]) >= 0
	case "time", "ts", "timestamp", "level", "severity":
		return s[n] == '=' || strings.HasPrefix(s[n:], `":`)
	default:
		return false
	}
}

// shaped reports whether a text begins with a shape, in which 0 is any digit
// and A and a are any letters.
func shaped(s, shape string) bool {
	if len(s) < len(shape) {
		return false
	}
	for i := range len(shape) {
		switch c := s[i]; shape[i] {
		case '0':
			if !isDigit(c) {
				return false
			}
		case 'A', 'a':
			if !isLetter(c) {
				return false
			}
		default:
			if c != shape[i] {
				return false
			}
		}
	}
	return true
}
