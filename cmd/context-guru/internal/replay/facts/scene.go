package facts

import (
	"strings"

	"github.com/contextguru/contextguru/pipeline/rewrite"
)

// Place is where something that an output said can be read.
type Place uint8

// The places, from the worst to the best.
const (
	Lost         Place = iota // nowhere
	BehindMarker              // only in the original that a marker leads to
	Elsewhere                 // in another part of the request
	InPlace                   // in what was sent of the output
)

// Output is a tool output and what was sent in its place.
type Output struct {
	Original string
	// Sent is the text that was sent; it counts when Edited is set.
	Sent   string
	Edited bool
	// Marked reports that a marker leads to the original.
	Marked bool
}

// OutputOf is an output with this text, and what a rewriter explains of it.
func OutputOf(original string, e *rewrite.Explanation) Output {
	return Output{
		Original: original, Sent: e.Text, Edited: e.Text != "",
		Marked: e.Text != "" && e.Outcome.Lossy != nil && e.Outcome.Lossy.ID != "" && e.Text == e.Outcome.Lossy.Text,
	}
}

// Judge says what can still be read of outputs. It is safe for concurrent use.
type Judge struct {
	detector *Detector
	most     int
}

// NewJudge returns a judge that looks for so many facts, and as many error
// lines, in one output.
func NewJudge(most int) *Judge { return &Judge{detector: NewDetector(), most: most} }

// Scene is the request that outputs are read in.
type Scene struct {
	texts func() []string
	whole *Index
}

// NewScene returns the scene of a request with these texts, which are asked for
// when they are needed.
func NewScene(texts func() []string) *Scene { return &Scene{texts: texts} }

func (s *Scene) index() *Index {
	if s.whole == nil {
		s.whole = NewIndex(s.texts()...)
	}
	return s.whole
}

// Facts calls found for every fact of an output with the place it can be read.
func (j *Judge) Facts(s *Scene, o Output, found func(fact string, at Place)) {
	index := o.index()
	for _, fact := range Find(o.Original, j.most) {
		switch {
		case !o.Edited, index.Has(fact):
			found(fact, InPlace)
		case !o.Marked && strings.Contains(fact, "/") && index.HasPath(fact):
			found(fact, InPlace) // a listing may name a folder once
		default:
			found(fact, o.beyond(s.index().Has(fact)))
		}
	}
}

// ErrorLines calls found for every error line of an output with the place its
// beginning can be read.
func (j *Judge) ErrorLines(s *Scene, o Output, found func(line string, at Place)) {
	index := o.index()
	for _, line := range j.detector.Lines(o.Original, j.most) {
		if !o.Edited || index.HasLine(line) {
			found(line, InPlace)
		} else {
			found(line, o.beyond(s.index().HasLine(line)))
		}
	}
}

func (o *Output) index() *Index {
	if !o.Edited {
		return nil
	}
	return NewIndex(o.Sent)
}

func (o *Output) beyond(elsewhere bool) Place {
	switch {
	case elsewhere:
		return Elsewhere
	case o.Marked:
		return BehindMarker
	default:
		return Lost
	}
}
