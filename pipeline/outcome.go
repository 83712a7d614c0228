package pipeline

import "time"

// Count is a number of tokens.
type Count struct {
	N int
	// Estimated reports that N is not the exact count of the encoding.
	Estimated bool
}

// Counter counts tokens in one encoding. It must be a pure function of the text.
type Counter interface {
	Count(text string) Count
	// Encoding names the encoding; counts of one encoding are comparable.
	Encoding() string
}

// Version is one way a segment can be sent.
type Version struct {
	Text string
	// Value is the JSON value for Text, ready to be copied into the body.
	Value  []byte
	Tokens int
	// ID is the marker id of the original behind a lossy version, or empty.
	ID string
}

// Act is what one component did to one segment.
type Act struct {
	Component string
	// Step is the component's place in the pipeline.
	Step int
	// Acted reports an adopted edit; otherwise Reason says why there is none.
	Acted  bool
	Lossy  bool
	Reason Reason
	// Before and After are tokens of the text in front of and behind this
	// component; they are equal when it did not act.
	Before, After int
	// Took is the time of the call when the outcome was computed.
	Took time.Duration
}

// Fault reports whether the act failed rather than declined.
func (a Act) Fault() bool { return !a.Acted && a.Reason.fault() }

// Outcome is what the pipeline decided about one segment. It is immutable and
// shared between requests.
type Outcome struct {
	// Original counts the client's text.
	Original Count
	// Reason says why no component was asked, or is empty.
	Reason Reason
	// Acts has one entry per component asked, in order.
	Acts []Act
	// Edits are the acts that were adopted. There are few of them however long
	// the pipeline is, so whoever sums up a request looks at these.
	Edits []Act
	// Lossless is the version without a marker, nil when it is the client's text.
	Lossless *Version
	// Lossy is the version with a marker, or nil.
	Lossy *Version
	// Irreversible reports that the lossy version keeps no original.
	Irreversible bool

	original, final Digest // of the decoded texts, for Earlier
	gist            Digest // of what counts in the original, for Alike; zero if that is all of it
	late            bool   // a horizon component acted
	price           int    // tokens of what is sent where markers are allowed, with the dearest marker
}

// Sum is the SHA-256 digest of the client's text.
func (o *Outcome) Sum() Digest { return o.original }

// Pick returns the version to send: the lossy one where markers are allowed,
// else the lossless one; nil means the client's own bytes.
func (o *Outcome) Pick(lossy bool) *Version {
	if lossy && o.Lossy != nil {
		return o.Lossy
	}
	return o.Lossless
}

// Tokens is the count of the version Pick returns.
func (o *Outcome) Tokens(lossy bool) int {
	if v := o.Pick(lossy); v != nil {
		return v.Tokens
	}
	return o.Original.N
}

func (o *Outcome) size() int64 {
	size := int64(memoEntryOverhead + 80*(len(o.Acts)+len(o.Edits)))
	for _, v := range []*Version{o.Lossless, o.Lossy} {
		if v != nil {
			size += int64(len(v.Text) + len(v.Value))
		}
	}
	return size
}

// Result is what Run decided about a whole transcript. It is only valid until
// Release.
type Result struct {
	// Outcomes has one entry per segment, in order.
	Outcomes []*Outcome
	// Fresh counts the outcomes that were computed and not remembered.
	Fresh int
	// New has one entry per segment: whether its outcome at first sight was
	// computed now. A request sent again has none.
	New []bool
	// Horizon is the turn as of which horizon components decided, or 0.
	Horizon int
	// Acts has one entry per request component, in order; their token counts
	// are 0.
	Acts []Act
	// Annotations are what request components insert, in no order. Their values
	// are valid as long as the transcript.
	Annotations []Annotation

	run *run
}

// Changed reports whether any segment has a version to send.
func (r *Result) Changed(lossy bool) bool {
	for _, o := range r.Outcomes {
		if o.Pick(lossy) != nil {
			return true
		}
	}
	return false
}

// Tokens sums the segments before and after the edits.
func (r *Result) Tokens(lossy bool) (before, after int) {
	for _, o := range r.Outcomes {
		before += o.Original.N
		after += o.Tokens(lossy)
	}
	return before, after
}

// muchSmaller is how many times smaller the view of a fallback has to be to take
// the place of another component's. A segment has one view: of the first
// component in the operator's order that offers one, unless that leaves most of
// a text that a fallback would cut down to size.
const muchSmaller = 2

// outdo takes back the act whose view another one took the place of, if there is
// one, and returns the tokens in front of both.
func (c *chain) outdo(tokens int) int {
	acts := c.outcome.Acts
	for i := range acts {
		if !acts[i].Lossy {
			continue
		}
		tokens = acts[i].Before
		acts[i].Acted, acts[i].Lossy, acts[i].Reason = false, false, ReasonOutdone
		for ; i < len(acts); i++ {
			acts[i].Before, acts[i].After = tokens, tokens
		}
		break
	}
	return tokens
}
