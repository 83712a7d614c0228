package facts

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lineHead is how many bytes of a line have to be readable.
const lineHead = 160

// Detector finds the lines that report an error. Make one with NewDetector.
type Detector struct{ reports, harmless, code, numbered, located, named *regexp.Regexp }

// NewDetector returns a detector. It is safe for concurrent use.
func NewDetector() *Detector {
	either := func(patterns ...string) *regexp.Regexp {
		return regexp.MustCompile("(?:" + strings.Join(patterns, ")|(?:") + ")") // a flag ends with its group
	}
	return &Detector{
		reports: either(
			`(?i)(?:^|[\s"'\[(|])(?:error|fatal|panic|failure|failed|exception)(?:\[\w{1,8}\]|\s*\([^)]{1,40}\))?["\]]?\s*:\s*\S`, // error: …
			`(?:^|[\s\[(|])(?:ERROR|FATAL|SEVERE|CRITICAL)(?:[\s\])|:]|$)`,                                                        // a level
			`(?i)\blevel"?[=:]\s*"?(?:error|fatal|panic|critical)\b`,
			`\b[A-Za-z][\w.]*(?:Error|Exception)(?::|$)`,
			`^Traceback \(most recent call last\)`,
			`^(?:--- FAIL|FAIL\b|FAILED\b|not ok \d|E {3}\S|npm ERR!|panic: )`,
			`(?i)\bexit(?:ed)?(?: with)?(?: status| code)?:?\s+[1-9]`,
			`(?i)\b[1-9]\d*\s+(?:failed|failures?|errors?|failing)\b`,
			`(?i)\b(?:failed to|cannot|could not|unable to) \w`,
			`(?i)\b(?:command not found|no such file or directory|permission denied|undefined reference|segmentation fault|connection refused|internal (?:server )?error)\b`,
			`\b[EF]\d{3}\s+[a-z]`,           // what linters number
			`(?i)^\W*failed tests?\s+[1-9]`, // a heading
		),
		harmless: either(
			`(?i)\b(?:0|no|zero|without)\s+(?:errors?|fail(?:ures?|ed|ing)?|exceptions?)\b`,
			`(?i)\b(?:errors?|fail(?:ures?|ed)?|exceptions?)"?\s*[:=]\s*(?:0\b|null\b|none\b|nil\b|false\b|\[\]|\{\}|"")`,
		),
		code: either(
			`[{;\\]$`, `:=|=>|->|&&|\|\||\+=|!=`,
			`^(?://|/\*|\*\s|#|--\s|@)`,
			`^(?:import|from|package|func|def|class|return|if|elif|else|for|while|raise|throw|try|except|catch|assert|var|let|const|print|echo|puts|case|break|pass|type)\b`,
			`^[\w.\[\]"']+\s*=\s`,
			`^[\w.]+\(`,
		),
		numbered: either(`^\s*\d+(?:\t|→|\||:\s)`),
		located:  either(`^[\w./-]+\.\w+[:-]\d+[:-]`),
		named:    either(`(?i)^(?:.*_)?(?:errors?|exception|failure|stderr|traceback)$`),
	}
}

// Lines returns the beginnings of the lines of a text that report an error,
// each once, in order. Of more than most it returns most, spread over the text.
func (d *Detector) Lines(text string, most int) []string {
	f := finder{d: d, seen: map[string]bool{}}
	if !isDocument(text) || !f.document(text, 0) {
		f.text(text, false)
	}
	return spread(f.found, most)
}

type finder struct {
	d     *Detector
	seen  map[string]bool
	found []string
}

// text reads lines. Certain ones report an error whatever they look like.
func (f *finder) text(text string, certain bool) {
	if !certain && f.d.source(text) {
		return
	}
	diff := strings.Contains(text, "\n@@ ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(Rendered(line))
		if line == "" || diff && strings.IndexByte("+-", line[0]) >= 0 || !certain && !f.d.says(line) {
			continue
		}
		if line = head(line); !f.seen[line] {
			f.seen[line] = true
			f.found = append(f.found, line)
		}
	}
}

// document reads the strings of a JSON document and reports whether it is one.
func (f *finder) document(text string, depth int) bool {
	if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true))
	name := ""
	for {
		token, err := d.ReadToken()
		if err != nil {
			return true
		}
		kind, n := d.StackIndex(d.StackDepth())
		if token.Kind() != '"' {
			continue
		}
		value := token.String()
		switch {
		case kind == '{' && n%2 == 1:
			name = value
		case depth < maxNesting && isDocument(value) && f.document(value, depth+1):
		default:
			f.text(value, kind == '{' && f.d.named.MatchString(name))
		}
	}
}

// source reports whether a text is source code: a file with numbered lines, or
// code for the most part.
func (d *Detector) source(text string) bool {
	lines, code := 0, 0
	for line := range strings.Lines(text) {
		line = Rendered(line)
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		if d.numbered.MatchString(line) || d.isCode(strings.TrimSpace(line)) {
			code++
		}
	}
	return lines >= 4 && 2*code > lines
}

// isCode reports whether a line looks like one of a program, also behind the
// place a search found it at.
func (d *Detector) isCode(line string) bool {
	line = strings.TrimSpace(line[len(d.located.FindString(line)):])
	return line == "}" || line == ")" || d.code.MatchString(line)
}

// says reports whether a line reports an error.
func (d *Detector) says(line string) bool {
	if !d.reports.MatchString(line) || d.isCode(line) {
		return false
	}
	return d.reports.MatchString(d.harmless.ReplaceAllString(line, ""))
}

// head is the part of a line that has to be readable, whole characters only.
func head(line string) string {
	if len(line) <= lineHead {
		return line
	}
	end := lineHead
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return strings.TrimSpace(line[:end])
}
