package pipeline

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Trigger gates a component by size. Everything is judged as of the segment:
// how large the request was when this output was new, whatever it has grown to
// since, so that a trigger never fires for an output that was sent before. The
// zero Trigger lets everything through.
//
// Fractions are of the model's context window. The absolute and the fraction
// both have to be reached; where the window is unknown, absolutes alone count.
type Trigger struct {
	// MinRequestTokens is the least size of the tool outputs so far, in tokens.
	MinRequestTokens int `json:"min_request_tokens"`
	// MinMessages is the least number of messages so far.
	MinMessages int `json:"min_messages"`
	// MinOutputTokens is the least size of the output itself, in tokens.
	MinOutputTokens int `json:"min_output_tokens"`
	// MinRequestFrac is MinRequestTokens as a fraction of the window.
	MinRequestFrac float64 `json:"min_request_frac"`
	// MinOutputFrac is MinOutputTokens as a fraction of the window.
	MinOutputFrac float64 `json:"min_output_frac"`
	// HugeOutputFrac is the fraction of the window from which an output is
	// worked on however small the request is.
	HugeOutputFrac float64 `json:"huge_output_frac"`
}

// ReasonTrigger says that the request or the output was too small then.
const ReasonTrigger Reason = "below_trigger"

// Validate reports negative sizes and fractions outside 0 to 1.
func (t Trigger) Validate() error {
	frac := func(field string, f float64) error {
		if f >= 0 && f <= 1 { // false for NaN as well
			return nil
		}
		return &FieldError{Field: "trigger." + field, Problem: fmt.Sprintf("must be a fraction from 0 to 1, got %v", f)}
	}
	return errors.Join(
		AtLeast("trigger.min_request_tokens", t.MinRequestTokens, 0),
		AtLeast("trigger.min_messages", t.MinMessages, 0),
		AtLeast("trigger.min_output_tokens", t.MinOutputTokens, 0),
		frac("min_request_frac", t.MinRequestFrac),
		frac("min_output_frac", t.MinOutputFrac),
		frac("huge_output_frac", t.HugeOutputFrac),
	)
}

// Scope is what a component with this trigger looks at beyond its segment.
func (t Trigger) Scope() Scope {
	if t.MinRequestTokens > 0 || t.MinMessages > 0 || t.MinRequestFrac > 0 {
		return ScopeTranscript
	}
	return ScopeSegment
}

// Allows reports whether the component may work on a segment. floor is the
// component's own least output size in tokens.
func (t Trigger) Allows(s Segment, floor int) bool {
	window := s.Request.Window
	if s.Tokens < max(floor, t.MinOutputTokens, Fraction(t.MinOutputFrac, window)) {
		return false
	}
	if huge := Fraction(t.HugeOutputFrac, window); huge > 0 && s.Tokens >= huge {
		return true
	}
	return s.Request.Messages >= t.MinMessages &&
		s.Request.Tokens >= max(t.MinRequestTokens, Fraction(t.MinRequestFrac, window))
}

// Fraction is a share of a window in tokens, rounded up; 0 when either is unset.
func Fraction(share float64, window int) int {
	if share <= 0 || window <= 0 {
		return 0
	}
	return int(math.Ceil(share * float64(window)))
}

// ToolRules say what may be done to the outputs of tools, by the tools' names.
type ToolRules struct {
	// Exclude names tools whose outputs are left alone.
	Exclude []ToolGlob `json:"exclude"`
	// LosslessOnly names tools whose outputs get lossless edits only.
	LosslessOnly []ToolGlob `json:"lossless_only"`
}

// Why the rules left something alone.
const (
	ReasonToolExcluded Reason = "tool_excluded"
	ReasonToolLossless Reason = "tool_lossless_only"
)

// ToolGlob is a pattern for names of tools. In it * is any text, ? one
// character, [a-z] one of a range and [^a-z] one outside of it; a backslash
// takes the meaning from what follows. Case counts.
//
// Clients qualify the names of tools that come from elsewhere. A glob names a
// tool when it matches the whole name or the last part of it, which is what
// stands behind the last "__", ".", "/" or ":". So read_* names read_file,
// mcp__disk__read_file, disk.read_file and disk/read_file, and mcp__disk__*
// names every tool of that server. The name of a tool is that of the call; where
// the call is not in the request only * names it.
type ToolGlob string

// Validate refuses what is no pattern.
func (g ToolGlob) Validate() error {
	if g == "" {
		return errors.New(`must be a pattern for names of tools, got ""`)
	}
	if _, err := path.Match(string(g), ""); err != nil {
		return fmt.Errorf(`must be a pattern such as read_* or mcp__disk__?et, got %.60q: a [ without its ], or a \ at the end`, string(g))
	}
	if i := strings.Index(string(g), "[!"); i >= 0 && (i == 0 || g[i-1] != '\\') {
		return fmt.Errorf("must say [^a-z] for what is outside of a range, not [!a-z], got %.60q", string(g))
	}
	return nil
}

// maxToolName is how much of a name is looked at. Providers take 64 to 128
// bytes; a request can hold megabytes.
const maxToolName = 1024

// Names reports whether the glob names a tool.
func (g ToolGlob) Names(tool string) bool {
	tool = tool[:min(len(tool), maxToolName)]
	return g.matches(tool) || g.matches(lastPart(tool))
}

func (g ToolGlob) matches(name string) bool {
	// To path.Match a slash is an end, here it is a character like any other.
	const slash = "\x00"
	ok, err := path.Match(strings.ReplaceAll(string(g), "/", slash), strings.ReplaceAll(name, "/", slash))
	return ok && err == nil
}

// lastPart is what stands behind the last separator.
func lastPart(name string) string {
	at := 0
	for _, separator := range []string{"__", ".", "/", ":"} {
		if i := strings.LastIndex(name, separator); i >= 0 {
			at = max(at, i+len(separator))
		}
	}
	return name[at:]
}

// parts are the rules, in a form that tells any two of them apart.
func (r *ToolRules) parts() []string {
	parts := []string{strconv.Itoa(len(r.Exclude))}
	for _, globs := range [][]ToolGlob{r.Exclude, r.LosslessOnly} {
		for _, g := range globs {
			parts = append(parts, string(g))
		}
	}
	return append(parts, strconv.Itoa(len(r.LosslessOnly)))
}

// judge says what the rules take from the outputs of a tool: nothing, lossy
// edits, or all.
func (r *ToolRules) judge(tool []byte) Reason {
	names := func(g ToolGlob) bool { return g.Names(string(tool)) }
	switch {
	case slices.ContainsFunc(r.Exclude, names):
		return ReasonToolExcluded
	case slices.ContainsFunc(r.LosslessOnly, names):
		return ReasonToolLossless
	default:
		return ""
	}
}
