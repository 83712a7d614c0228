package format

import (
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

func TestSameLiterals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{
		{`{ "a" : [ 1 , 2.0 ] }`, `{"a":[1,2.0]}`},
		{`[]`, " [ ]\n"},
		{`["{ \"a\": 1 }"]`, `["{\"a\":1}"]`},
		{`["[ \"[ 1, 2 ]\" ]"]`, `["[\"[1,2]\"]"]`},
		{`{"a":1,"a":2}`, `{"a":1, "a":2}`},
		{`["\ud83d"]`, ` ["\ud83d"]`},
	} {
		if err := sameLiterals(c.before, c.after); err != nil {
			t.Errorf("%s and %s: %v", c.before, c.after, err)
		}
	}
}

// The check is worth something only if it refuses what a bad encoder writes.
func TestSameLiteralsRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"another number":     {`[1.0]`, `[1]`},
		"another exponent":   {`[1e5]`, `[1E5]`},
		"another escape":     {`["\u00e9"]`, `["é"]`},
		"another slash":      {`["\/"]`, `["/"]`},
		"white space":        {`["a  b"]`, `["a b"]`},
		"another order":      {`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		"one name less":      {`{"a":1,"a":2}`, `{"a":2}`},
		"another name":       {`{"a ":1}`, `{"a":1}`},
		"one item less":      {`[1,2]`, `[1]`},
		"one item more":      {`[1]`, `[1,2]`},
		"another shape":      {`[1,[2]]`, `[[1],2]`},
		"object to array":    {`{}`, `[]`},
		"string to document": {`["[1]"]`, `[[1]]`},
		"null to empty":      {`[null]`, `[""]`},
		"text gone":          {`[1] x`, `[1]`},
		"document gone":      {`[1] [2]`, `[1]`},
		"second document":    {`[1] [2]`, `[1][2]`},
		"text added":         {`[1]`, `[1] x`},
		"cut off":            {`[1]`, `[1`},
		"not JSON":           {`[x]`, `[x]`},
		"inner number":       {`["[ 1.0 ]"]`, `["[1]"]`},
		"inner text":         {`["a  b"]`, `["a b"]`},
		"inner tail":         {`["[1] x"]`, `["[1]"]`},
		"inner name":         {`{"[ 1 ]":1}`, `{"[1]":1}`},
		"inner string":       {`["\"a\" "]`, `["\"a\""]`},
		"half a pair":        {`["[ \"\ud83d\" ]"]`, `["[\"\ud83d\"]"]`},
		"nothing":            {`[1]`, ``},
	} {
		if err := sameLiterals(c.before, c.after); err == nil {
			t.Errorf("%s: %s and %s count as the same", name, c.before, c.after)
		}
	}
}

// Any one byte removed from a document full of traps is noticed, unless it is
// white space between literals.
func TestSameLiteralsNoticesEveryByte(t *testing.T) {
	t.Parallel()
	const doc = `{ "a" : [ -10.50e+2 , "x \" \\ \u00e9" , true ] , "" : "{ \"b\" : [ 1 , \"\\n\" ] }" }`
	for i := range len(doc) {
		cut := doc[:i] + doc[i+1:]
		same := sameLiterals(doc, cut) == nil
		if same && (doc[i] != ' ' || pipelinetest.SameJSON(doc, cut) != nil) {
			t.Errorf("%q removed at byte %d of %s counts as the same", doc[i], i, doc)
		}
	}
}

func TestSameLiteralsOfDeepTexts(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if err := sameLiterals(strings.ReplaceAll(deep, "[", "[ "), deep); err != nil {
		t.Error(err)
	}
	if err := sameLiterals(strings.Repeat("[", 1<<20), strings.Repeat("[", 1<<20)); err == nil {
		t.Error("a million brackets are a document")
	}
}
