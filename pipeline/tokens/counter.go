package tokens

import (
	"fmt"
	"sync"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// Count is the size of a text in tokens.
type Count struct {
	// Tokens is the number of tokens.
	Tokens int
	// Estimated is true when Tokens may differ from what the encoding gives:
	// the text has a piece of more than 1 KB, or the counter stands in for a
	// tokenizer that is not public.
	Estimated bool
}

// Counters hands out the counters of a process. It loads a vocabulary when
// its first counter is asked for, and once. The zero value is ready; a
// Counters must not be copied after first use and is safe for concurrent use.
type Counters struct {
	o200k  lazy
	cl100k lazy
}

// lazy is an encoding that is loaded once.
type lazy struct {
	once sync.Once
	bpe  *bpe
	err  error
}

// New returns a Counters that has loaded nothing yet.
func New() *Counters {
	return &Counters{}
}

// For returns the counter of an encoding. The first call per vocabulary takes
// the time to load it; it fails for a name that is neither O200kBase nor
// CL100kBase.
func (c *Counters) For(enc Encoding) (*Counter, error) {
	var l *lazy
	switch enc.Name {
	case O200kBase:
		l = &c.o200k
	case CL100kBase:
		l = &c.cl100k
	default:
		return nil, fmt.Errorf("encoding %q is unknown: use %s or %s", enc.Name, O200kBase, CL100kBase)
	}
	l.once.Do(func() { l.bpe, l.err = newBPE(enc.Name) })
	if l.err != nil {
		return nil, fmt.Errorf("encoding %s: %w", enc.Name, l.err)
	}
	return &Counter{bpe: l.bpe, enc: enc}, nil
}

// ForModel returns the counter of EncodingFor(model).
func (c *Counters) ForModel(model string) (*Counter, error) {
	return c.For(EncodingFor(model))
}

// Counter counts the tokens of one encoding. Counts are a function of the
// text alone: the same in every process, whatever was counted before. A
// Counter is safe for concurrent use and keeps nothing of a text but short
// pieces, which it remembers to be faster.
type Counter struct {
	bpe *bpe
	enc Encoding
}

// Encoding returns what the counter was made for.
func (c *Counter) Encoding() Encoding {
	return c.enc
}

// Count returns the number of tokens of text. Special tokens such as
// <|endoftext|> are counted as the text they are, and each byte that is not
// valid UTF-8 as U+FFFD. It takes time linear in len(text) and does not
// allocate once the scratch space is warm.
func (c *Counter) Count(text string) Count {
	n, estimated := c.bpe.count(text, maxInt)
	return Count{Tokens: n, Estimated: estimated || c.enc.Approximate}
}

// AtLeast reports whether Count(text).Tokens >= n, and stops as soon as that
// is known.
func (c *Counter) AtLeast(text string, n int) bool {
	if n <= 0 {
		return true
	}
	if few(text, n) {
		return false
	}
	got, _ := c.bpe.count(text, n)
	return got >= n
}

// bpe is a loaded encoding.
type bpe struct {
	vocab   *vocab
	classes *classes
	cl100k  bool
	pool    sync.Pool // of *scratch
}

// newBPE loads the encoding of that name from the ranks in the binary.
func newBPE(name string) (*bpe, error) {
	v, err := loadVocab(assets.Assets, name+".tiktoken")
	if err != nil {
		return nil, err
	}
	b := &bpe{vocab: v, classes: newClasses(), cl100k: name == CL100kBase}
	b.pool.New = func() any { return newScratch(b) }
	return b, nil
}

// count counts until the text ends or limit is reached.
func (b *bpe) count(text string, limit int) (tokens int, estimated bool) {
	s := b.pool.Get().(*scratch) //nolint:forcetypeassert // the pool holds nothing else
	s.begin(text, limit)
	for p := 0; p < len(s.text) && s.tokens < limit; {
		e := s.next(p)
		s.piece(p, e)
		p = e
	}
	tokens, estimated = s.tokens, s.estimated
	s.text = nil // the text must not stay alive in the pool
	b.pool.Put(s)
	return tokens, estimated
}
