package smartcrush

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/contextguru/contextguru/components/internal/rawjson"
)

const (
	// fieldDepth is how many objects deep fields are compared between items.
	fieldDepth = 2
	// maxFields is how many fields are compared.
	maxFields = 64
	// sampleSize is how many items, evenly spread, tell what is usual for a
	// number: enough for a median, and few enough to sort.
	sampleSize = 1024
	// minNumbers is the least number of values a median says something about.
	minNumbers = 8
	// minScore is the distance from the median, in robust standard deviations,
	// from which on a number is an outlier (Iglewicz and Hoaglin, How to Detect
	// and Handle Outliers, 1993).
	minScore = 3.5
	// perField is how many outliers of one field are looked at.
	perField = 3
	// maxNumber is the length of the longest number that is read.
	maxNumber = 32
	// maxCategories is how many different values a field of categories has.
	maxCategories = 24
	// maxCategory is the length of the longest value that is a category.
	maxCategory = 64
	// rareIn and veryRareIn are how many items there must be for a value that
	// is seen once, or up to twice, to be rare.
	rareIn     = 10
	veryRareIn = 20
)

// findUnusual returns the items unlike the rest, the most unusual first:
// numbers far out in order of their distance, then rare values in order of
// place.
func findUnusual(ctx context.Context, doc []byte, items []rawjson.Span) ([]int, error) {
	root := &field{}
	c := comparison{items: len(items), root: root}
	for i := range min(len(items), sampleSize) {
		item := items[i*len(items)/min(len(items), sampleSize)]
		c.walk(root, doc, item, fieldDepth, c.sample)
	}
	c.each(root, (*field).summarize)
	for i, item := range items {
		if i%itemsPerCheck == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.at = i
		c.walk(root, doc, item, fieldDepth, c.judge)
	}
	var far []outlier
	var rare []int
	c.each(root, func(f *field) {
		far = append(far, f.far...)
		rare = append(rare, f.rare(len(items))...)
	})
	slices.SortFunc(far, outlier.compare)
	slices.Sort(rare)
	unusual := make([]int, 0, len(far)+len(rare))
	for _, o := range far {
		unusual = append(unusual, o.item)
	}
	return append(unusual, rare...), nil
}

// comparison compares the fields of items.
type comparison struct {
	items  int
	at     int // item that is judged
	root   *field
	fields int
}

// field is what is known about a field over all items. The items themselves
// are the root's.
type field struct {
	byName  map[string]*field
	order   []*field // as first seen, so that nothing depends on a map's order
	sampled int
	numbers []float64 // of the sample

	center, scale float64 // scale is 0 where numbers are not compared
	far           []outlier

	last       int // item behind the one it was seen in last
	present    []int
	count      int
	missing    []int
	categories map[string]*category
	overflow   bool
}

// category is a value of a field of categories.
type category struct {
	count int
	items []int // the first ones
}

type outlier struct {
	item  int
	score float64
}

func (o outlier) compare(p outlier) int {
	return cmp.Or(cmp.Compare(p.score, o.score), cmp.Compare(o.item, p.item))
}

// walk visits an item's value and its fields.
func (c *comparison) walk(f *field, doc []byte, value rawjson.Span, depth int, visit func(*field, []byte)) {
	visit(f, doc[value.Start:value.End])
	if doc[value.Start] != '{' || depth == 0 {
		return
	}
	for name, member := range rawjson.Members(doc, value.Start) {
		if sub := c.child(f, doc[name.Start+1:name.End-1]); sub != nil {
			c.walk(sub, doc, member, depth-1, visit)
		}
	}
}

// child returns the field of a name, or nil when there are too many.
func (c *comparison) child(f *field, name []byte) *field {
	if sub, known := f.byName[string(name)]; known {
		return sub
	}
	if c.fields == maxFields {
		return nil
	}
	c.fields++
	sub := &field{}
	if f.byName == nil {
		f.byName = map[string]*field{}
	}
	f.byName[string(name)] = sub
	f.order = append(f.order, sub)
	return sub
}

// each visits all fields.
func (c *comparison) each(f *field, visit func(*field)) {
	visit(f)
	for _, sub := range f.order {
		c.each(sub, visit)
	}
}

// sample collects a value of a field.
func (c *comparison) sample(f *field, value []byte) {
	f.sampled++
	if x, ok := float(value); ok {
		f.numbers = append(f.numbers, x)
	}
}

func float(value []byte) (float64, bool) {
	if c := value[0]; c != '-' && (c < '0' || c > '9') || len(value) > maxNumber {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(value), 64)
	return x, err == nil
}

// summarize turns a field's sample into what is usual for it. Where more than
// half of the values are equal, the mean distance stands in for the median of
// the distances, which is 0 then.
func (f *field) summarize() {
	n := len(f.numbers)
	if n < minNumbers || n*5 < f.sampled*4 {
		f.numbers = nil
		return
	}
	slices.Sort(f.numbers)
	f.center = f.numbers[n/2]
	sum := 0.0
	for i, x := range f.numbers {
		f.numbers[i] = math.Abs(x - f.center)
		sum += f.numbers[i]
	}
	slices.Sort(f.numbers)
	// The factors make both the standard deviation of a normal distribution.
	const byMedian, byMean = 1.4826, 1.2533
	if f.scale = byMedian * f.numbers[n/2]; f.scale == 0 {
		f.scale = byMean * sum / float64(n)
	}
	if f.scale == 0 {
		f.scale = math.SmallestNonzeroFloat64 // all are equal: anything else is far out
	}
	f.numbers = nil
}

// judge compares a value with what is usual for its field.
func (c *comparison) judge(f *field, value []byte) {
	if f.last > c.at {
		return // a repeated name
	}
	for i := f.last; i < c.at && len(f.missing) < 3; i++ {
		f.missing = append(f.missing, i)
	}
	f.last = c.at + 1
	if f.count++; len(f.present) < 2 {
		f.present = append(f.present, c.at)
	}
	if f.scale > 0 {
		if x, ok := float(value); ok {
			f.addNumber(outlier{item: c.at, score: math.Abs(x-f.center) / f.scale})
			return
		}
	}
	f.addCategory(c.at, value)
}

// addNumber keeps the farthest outliers.
func (f *field) addNumber(o outlier) {
	if !(o.score > minScore) {
		return
	}
	at, _ := slices.BinarySearchFunc(f.far, o, outlier.compare)
	if at < perField {
		f.far = slices.Insert(f.far, at, o)
		f.far = f.far[:min(len(f.far), perField)]
	}
}

func (f *field) addCategory(item int, value []byte) {
	if f.overflow {
		return
	}
	switch c := value[0]; {
	case c == '{' || c == '[':
		value = value[:1] // one sort of value
	case c != '"' && c != 't' && c != 'f' && c != 'n':
		value = []byte("0") // numbers are another
	case len(value) > maxCategory:
		f.overflow = true
		return
	}
	known := f.categories[string(value)]
	if known == nil {
		if len(f.categories) == maxCategories {
			f.overflow, f.categories = true, nil
			return
		}
		if f.categories == nil {
			f.categories = map[string]*category{}
		}
		known = &category{}
		f.categories[string(value)] = known
	}
	if known.count++; len(known.items) < 2 {
		known.items = append(known.items, item)
	}
}

// rare returns the items whose value of this field, or lack of one, is rare
// among n items.
func (f *field) rare(n int) []int {
	most := 0
	switch {
	case n >= veryRareIn:
		most = 2
	case n >= rareIn:
		most = 1
	}
	for i := f.last; i < n && len(f.missing) < 3; i++ {
		f.missing = append(f.missing, i)
	}
	if f.count <= most {
		return f.present
	}
	var rare []int
	if len(f.missing) <= most {
		rare = f.missing
	}
	var odd []int
	for _, c := range f.categories {
		if c.count <= most {
			odd = append(odd, c.items...)
		}
	}
	// It is a field of categories only if nearly all values repeat.
	if len(odd) <= max(1, f.count/10) && !f.overflow {
		rare = append(rare, odd...)
	}
	return rare
}
