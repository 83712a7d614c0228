package models

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of plausible numbers. The largest window in the map has 10 million
// tokens, the dearest token costs 600 dollars per million; what lies far
// beyond is a price per thousand or million tokens, or a slip.
const (
	maxWindow = 1e9
	maxPrice  = 0.01
)

// maxAliases bounds a chain of aliases.
const maxAliases = 8

// Load reads LiteLLM's model map, a JSON object of one object per model. Each
// entry is read by itself: what is wrong with one is an error in the list and
// leaves out that entry, or that field of it, and nothing else. Entries that
// are not about models that chat, complete or answer are left out silently.
// The map is nil when the document as a whole is not a JSON object.
func Load(data []byte) (*Map, []error) {
	l := loader{
		dec:     jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		seen:    make(map[string]bool),
		aliases: make(map[string]string),
	}
	if err := l.document(); err != nil {
		return nil, append(l.errs, fmt.Errorf("model map: %w", err))
	}
	l.follow()
	return newMap(l.models), l.errs
}

// loader is the state of one Load.
type loader struct {
	dec     *jsontext.Decoder
	models  []Model
	seen    map[string]bool // every name in the document
	aliases map[string]string
	order   []string // of the aliases
	errs    []error
}

func (l *loader) fault(name, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("model %q: "+format, append([]any{name}, args...)...))
}

// document reads the whole text; its errors are those of the JSON itself.
func (l *loader) document() error {
	if kind := l.dec.PeekKind(); kind != '{' && kind != 0 {
		return fmt.Errorf("want a JSON object, got %v", kind)
	}
	if _, err := l.dec.ReadToken(); err != nil {
		return err
	}
	for l.dec.PeekKind() != '}' {
		token, err := l.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := l.entry(token.String()); err != nil {
			return err
		}
	}
	if _, err := l.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := l.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the JSON object")
	}
	return nil
}

// entry reads one member of the document.
func (l *loader) entry(name string) error {
	if l.dec.PeekKind() != '{' {
		l.fault(name, "want an object, got %v", l.dec.PeekKind())
		return l.dec.SkipValue()
	}
	if l.seen[name] {
		l.fault(name, "the name occurs twice; the first entry counts")
		return l.dec.SkipValue()
	}
	l.seen[name] = true
	e := entry{model: Model{Name: name}}
	if err := l.fields(&e, l.field); err != nil {
		return err
	}
	// Some prices depend on the length of the prompt and are given so only;
	// the first is that of short ones.
	for i, p := range e.model.prices() {
		if !p.Known {
			*p = *e.tier.prices()[i]
		}
	}
	if e.alias != "" {
		l.aliases[name] = e.alias
		l.order = append(l.order, name)
		return nil
	}
	if e.mode != "chat" && e.mode != "completion" && e.mode != "responses" {
		return nil
	}
	if err := checkName(name); err != nil {
		l.errs = append(l.errs, err)
		return nil
	}
	for _, err := range e.errs {
		l.fault(name, "%w", err)
	}
	if e.model.says() {
		l.models = append(l.models, e.model)
	}
	return nil
}

// entry collects the fields of a model.
type entry struct {
	model       Model
	mode, alias string
	tier        Model // the first of tiered_pricing
	errs        []error
}

// fields reads the members of an object and hands each to field.
func (l *loader) fields(e *entry, field func(*entry, string) error) error {
	if _, err := l.dec.ReadToken(); err != nil {
		return err
	}
	for l.dec.PeekKind() != '}' {
		token, err := l.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := field(e, token.String()); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return err
}

// field reads one member of an entry.
func (l *loader) field(e *entry, name string) error {
	x := &e.model
	switch name {
	case "mode":
		return l.text(e, name, &e.mode)
	case "alias_of":
		return l.text(e, name, &e.alias)
	case "litellm_provider":
		return l.text(e, name, &x.Provider)
	case "max_input_tokens":
		return l.count(e, name, &x.Window)
	case "max_output_tokens":
		return l.count(e, name, &x.MaxOutput)
	case "tiered_pricing":
		return l.tiers(e, name)
	default:
		return l.cost(e, name, x)
	}
}

// tiers reads the first object of a list.
func (l *loader) tiers(e *entry, name string) error {
	if kind := l.dec.PeekKind(); kind != '[' {
		e.errs = append(e.errs, fmt.Errorf("%s: want an array, got %v", name, kind))
		return l.dec.SkipValue()
	}
	if _, err := l.dec.ReadToken(); err != nil {
		return err
	}
	if l.dec.PeekKind() == '{' {
		if err := l.fields(e, func(e *entry, name string) error { return l.cost(e, name, &e.tier) }); err != nil {
			return err
		}
	}
	for l.dec.PeekKind() != ']' {
		if err := l.dec.SkipValue(); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return err
}

// cost reads a price, or skips a member that is none of ours.
func (l *loader) cost(e *entry, name string, x *Model) error {
	switch name {
	case "input_cost_per_token":
		return l.price(e, name, &x.Input)
	case "output_cost_per_token":
		return l.price(e, name, &x.Output)
	case "cache_read_input_token_cost":
		return l.price(e, name, &x.CacheRead)
	case "cache_creation_input_token_cost":
		return l.price(e, name, &x.CacheWrite)
	case "cache_creation_input_token_cost_above_1hr":
		return l.price(e, name, &x.CacheWrite1h)
	default:
		return l.dec.SkipValue()
	}
}

// scalar reads a value that is a string or a number; null and nothing are "".
func (l *loader) scalar(e *entry, name string) (text string, err error) {
	switch kind := l.dec.PeekKind(); kind {
	case '"', '0':
		token, err := l.dec.ReadToken()
		if err != nil {
			return "", err
		}
		return strings.TrimSpace(token.String()), nil
	case 'n':
	default:
		e.errs = append(e.errs, fmt.Errorf("%s: want a number or a string, got %v", name, kind))
	}
	return "", l.dec.SkipValue()
}

func (l *loader) text(e *entry, name string, to *string) error {
	text, err := l.scalar(e, name)
	if err != nil {
		return err
	}
	if strings.ContainsAny(text, "\t\r\n") {
		e.errs = append(e.errs, fmt.Errorf("%s: %q holds a control character", name, text))
		return nil
	}
	*to = text
	return nil
}

func (l *loader) count(e *entry, name string, to *int) error {
	text, err := l.scalar(e, name)
	if err != nil || text == "" {
		return err
	}
	n, err := parseCount(text)
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	*to = n
	return nil
}

func (l *loader) price(e *entry, name string, to *Price) error {
	text, err := l.scalar(e, name)
	if err != nil || text == "" {
		return err
	}
	p, err := parsePrice(text)
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	*to = p
	return nil
}

// follow gives the aliases the numbers of the models they stand for.
func (l *loader) follow() {
	at := make(map[string]int, len(l.models))
	for i := range l.models {
		at[l.models[i].Name] = i
	}
	for _, alias := range l.order {
		target, hops := l.aliases[alias], 1
		for l.aliases[target] != "" && hops < maxAliases {
			target = l.aliases[target]
			hops++
		}
		i, ok := at[target]
		if err := checkName(alias); err != nil {
			l.errs = append(l.errs, err)
		} else if ok {
			x := l.models[i]
			x.Name = alias
			l.models = append(l.models, x)
		} else if l.aliases[target] != "" || !l.seen[target] {
			l.fault(alias, "alias_of %q leads to no model", l.aliases[alias])
		}
	}
}

// says reports whether an entry states anything.
func (m *Model) says() bool {
	for _, p := range m.prices() {
		if p.Known {
			return true
		}
	}
	return m.Window > 0 || m.MaxOutput > 0
}

// checkName refuses names that no client could send or no text could hold.
func checkName(name string) error {
	if name == "" || len(name) > maxID || name[0] == '#' || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("model %.80q: a name has 1 to %d bytes, no white space and no # in front", name, maxID)
	}
	return nil
}

// parseCount reads a number of tokens; 0 is the same as unknown.
func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > maxWindow {
			return 0, fmt.Errorf("want a number of tokens, got %.40q", text)
		}
		n = int(f)
	}
	if n < 0 || n > maxWindow {
		return 0, fmt.Errorf("want a number of tokens from 0 to %d, got %d", int(maxWindow), n)
	}
	return n, nil
}

// parsePrice reads a price of one token.
func parsePrice(text string) (Price, error) {
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Price{}, fmt.Errorf("want a price, got %.40q", text)
	}
	if !(usd >= 0 && usd <= maxPrice) { // NaN is neither
		return Price{}, fmt.Errorf("want a price per token from 0 to %v US dollars, got %v", maxPrice, usd)
	}
	return Price{USD: usd + 0, Known: true}, nil // + 0 makes -0 a 0
}
