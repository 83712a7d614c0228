package wire

import (
	"slices"

	"github.com/contextguru/contextguru/pipeline"
)

// ToolsForm is how a request declares tools.
type ToolsForm uint8

// The forms.
const (
	// ToolsAbsent is a request whose model has no function to call: there is no
	// list of tools, or it is null or empty, or with Gemini there is none among
	// the tools.
	ToolsAbsent ToolsForm = iota
	// ToolsListed is a request with a list of tools.
	ToolsListed
	// ToolsUnclear is a request whose tools two readers may understand in two
	// ways (there are two lists, or something that is none) or that declares them
	// in a form from before there were tools.
	ToolsUnclear
)

// Tools is what a request says about the tools that a model may call.
type Tools struct {
	Form ToolsForm
	// Expand is where a tool by the name of [pipeline.ExpandTool] is declared;
	// empty when none is.
	Expand pipeline.Span

	add    pipeline.Span // empty, where another one goes into the list
	before string        // what stands in front of it then
	after  string        // and behind it
	made   bool          // its list is made for it, or has nothing else
}

// Append returns the patch that declares one tool more, behind all others. The
// tool is an element of the list, in Gemini of a tool's functionDeclarations.
// It is false where there is no list with tools in it; with create a list is
// filled or made, if there is a place for one.
func (t *Tools) Append(tool string, create bool) (Patch, bool) {
	if t.Form == ToolsUnclear || t.add.Start == 0 || t.made && !create {
		return Patch{}, false
	}
	return Patch{Span: t.add, Raw: slices.Concat([]byte(t.before), []byte(tool), []byte(t.after))}, true
}

// Tools returns what the request that was read last says about tools. It means
// something only when Parse had no error.
func (p *Parser) Tools() Tools {
	b := &p.root.tools
	t := Tools{Expand: b.expand, made: true}
	switch {
	case b.unclear, b.times > 1, p.root.again&toolKeys != 0, b.home.at > 0 && b.home.level != p.root.list.level:
		t.Form = ToolsUnclear
	case b.last > 0:
		t.Form, t.made = ToolsListed, false
		t.put(b.last, ",", "")
	case b.null:
	case b.first > 0:
		t.put(b.first, "", "")
		if b.list && p.format.parts() {
			t.before, t.after = `{"functionDeclarations":[`, "]}"
		}
	case b.times > 0: // there is a list, but none for functions
	case b.home.at > 0: // the object that has them has none
		t.put(b.home.at, `"tools":[`, "]"+b.comma)
	case p.format.levels[0]&keyToolConfig != 0:
		t.put(p.root.list.at, `"toolConfig":{"tools":[`, "]},")
	case p.format.parts():
		t.put(p.root.list.at, `"tools":[{"functionDeclarations":[`, "]}],")
	default:
		t.put(p.root.list.at, `"tools":[`, "],")
	}
	return t
}

func (t *Tools) put(at int, before, after string) {
	t.add = pipeline.Span{Start: at, End: at}
	t.before, t.after = before, after
}

// parts reports whether functions are declared in the tools of a list.
func (f *format) parts() bool { return f.list == keyContents }

// place is an object: how far inside the request it is, and where its first
// member goes.
type place struct{ level, at int }

// toolbox is what was read about tools.
type toolbox struct {
	times   int   // how often there are tools
	home    place // the object that has them
	comma   string
	null    bool // they are null
	list    bool // they are a list
	unclear bool
	unkept  bool // the provider is told not to keep the request

	first  int // behind the bracket of a list that is empty
	last   int // behind the last element of one that is not
	expand pipeline.Span
	named  bool // the value being read declares the expand tool
}

// declarations reads the value of a key that declares tools.
func (p *Parser) declarations(key keys, here place) error {
	b := &p.root.tools
	if key == keyFunctions {
		b.unclear = b.unclear || p.dec.PeekKind() != 'n'
		return p.skip()
	}
	from := int(p.dec.InputOffset())
	defer func() { p.root.toolsAt = p.between(from, int(p.dec.InputOffset())) }()
	switch key {
	case keyToolConfig:
		return p.toolConfig(here)
	default:
		b.home = here
		return p.tools()
	}
}

// toolConfig reads {"tools":[…],"toolChoice":…}.
func (p *Parser) toolConfig(here place) error {
	b := &p.root.tools
	switch kind := p.dec.PeekKind(); {
	case kind == 'n':
		b.null = true
		return p.skip()
	case kind != '{', b.home.at > 0:
		b.unclear = true
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	b.home = place{level: here.level, at: int(p.dec.InputOffset())}
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return err
		}
		b.comma = ","
		if string(name) == "tools" {
			err = p.tools()
		} else {
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
}

// tools reads a list of tools.
func (p *Parser) tools() error {
	b := &p.root.tools
	b.times++
	switch p.dec.PeekKind() {
	case '[':
		b.list = true
		if p.format.parts() {
			return p.toolParts()
		}
		return p.toolList()
	case 'n':
		b.null = true
	default:
		b.unclear = true
	}
	return p.skip()
}

// toolList reads the list that comes next, whose elements are functions.
func (p *Parser) toolList() error {
	b := &p.root.tools
	start := p.between(int(p.dec.InputOffset()), len(p.body)).Start + 1
	last := 0
	element := func(p *Parser) error {
		from := max(start, last)
		b.named = false
		err := p.tool(0)
		last = int(p.dec.InputOffset())
		if b.named {
			b.expand = p.between(from, last)
		}
		return err
	}
	if _, err := p.each(element, element); err != nil {
		return err
	}
	if last > 0 {
		b.last = last
	} else {
		b.first = start
	}
	return nil
}

// tool reads one tool, whose name may stand in an object of it, or which may
// hold a list of tools itself, as far as so deep.
func (p *Parser) tool(depth int) error {
	if p.dec.PeekKind() != '{' || depth > 2 {
		return p.skip()
	}
	if err := p.open(); err != nil {
		return err
	}
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return err
		}
		switch string(name) {
		case "name":
			var value []byte
			value, err = p.value()
			p.root.tools.named = p.root.tools.named || string(word(value)) == pipeline.ExpandTool
		case "function", "custom", "toolSpec", "systemTool":
			err = p.tool(depth + 1)
		case "tools":
			inner := func(p *Parser) error { return p.tool(depth + 1) }
			_, err = p.each(inner, inner)
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
}

// toolParts reads a list of tools of which some hold functions.
func (p *Parser) toolParts() error {
	b := &p.root.tools
	start := p.between(int(p.dec.InputOffset()), len(p.body)).Start + 1
	count := 0
	_, err := p.each(func(p *Parser) error {
		count++
		return p.toolPart()
	}, func(p *Parser) error {
		count++
		return p.skip()
	})
	if count == 0 {
		b.first = start
	} else {
		b.list = false
	}
	return err
}

// toolPart reads one of them.
func (p *Parser) toolPart() error {
	b := &p.root.tools
	if err := p.open(); err != nil {
		return err
	}
	had := false
	for {
		name, err := p.name()
		if err != nil || name == nil {
			return err
		}
		switch string(name) {
		case "functionDeclarations", "function_declarations":
			switch kind := p.dec.PeekKind(); {
			case had, kind != '[' && kind != 'n':
				b.unclear = true
				err = p.skip()
			case kind == '[':
				err = p.toolList()
			default:
				err = p.skip()
			}
			had = true
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
}
