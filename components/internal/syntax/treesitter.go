//go:build cgo && !notreesitter

package syntax

import (
	"context"
	"strings"
	"unicode/utf8"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/c"
	"github.com/smacker/go-tree-sitter/cpp"
	"github.com/smacker/go-tree-sitter/golang"
	"github.com/smacker/go-tree-sitter/java"
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/python"
	"github.com/smacker/go-tree-sitter/ruby"
	"github.com/smacker/go-tree-sitter/rust"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

const (
	// chunk is how much of the source the parser is given at a time. It asks again
	// for what it looks at again, so that the number of its questions counts its
	// steps.
	chunk = 256
	// rereads is how often it may ask for all of the source. Of the standard
	// library of Python, clean code takes two rounds, and never more than seven.
	rereads = 12
	// safetyNet ends a parse that the bounds did not, in microseconds: more than
	// ten times what clean code of MaxBytes takes. Only what is not well formed,
	// and would be left alone anyway, gets there.
	safetyNet = 400_000
)

// Available reports whether there is a parser in this build.
func Available() bool { return true }

// Bodies returns the bodies of the functions in a source, in order and apart
// from each other, and false when the source is not well formed or not within
// the bounds.
func Bodies(ctx context.Context, lang Language, source string) (bodies []Body, ok bool, err error) {
	ok, err = parse(ctx, lang, source, func(root *sitter.Node) bool {
		w := walker{lang: lang, source: source, lines: strings.Split(source, "\n")}
		bodies, ok = w.bodies(root)
		return ok
	})
	return bodies, ok, err
}

// Clean reports whether a source is well formed and within the bounds.
func Clean(ctx context.Context, lang Language, source string) (bool, error) {
	return parse(ctx, lang, source, func(*sitter.Node) bool { return true })
}

// parse hands over the tree of a source, if it is well formed. The tree is C's
// memory and is gone afterwards.
func parse(ctx context.Context, lang Language, source string, use func(*sitter.Node) bool) (bool, error) {
	grammar := grammarOf(lang)
	if grammar == nil || !parsable(source) {
		return false, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err //nolint:wrapcheck // the context's own
	}
	parser := sitter.NewParser()
	defer parser.Close()
	parser.SetLanguage(grammar)
	parser.SetOperationLimit(safetyNet)
	reads, most := 0, rereads*(len(source)/chunk+2)
	tree, err := parser.ParseInputCtx(ctx, nil, sitter.Input{
		Encoding: sitter.InputEncodingUTF8,
		Read: func(offset uint32, _ sitter.Point) []byte {
			reads++
			at := int(offset)
			if reads > most || at >= len(source) {
				return nil // the end, here or there
			}
			end := min(at+chunk, len(source))
			for end < len(source) && !utf8.RuneStart(source[end]) {
				end++ // it would ask for the rest of a character, and take no for an answer badly
			}
			return []byte(source[at:end])
		},
	})
	if err != nil {
		if reads > most {
			return false, nil
		}
		return false, ErrTimeout
	}
	defer tree.Close()
	root := tree.RootNode()
	if reads > most || root.HasError() {
		return false, nil
	}
	return use(root), nil
}

func grammarOf(lang Language) *sitter.Language {
	switch lang {
	case C:
		return c.GetLanguage()
	case CPP:
		return cpp.GetLanguage()
	case Go:
		return golang.GetLanguage()
	case Java:
		return java.GetLanguage()
	case JavaScript:
		return javascript.GetLanguage()
	case Python:
		return python.GetLanguage()
	case Ruby:
		return ruby.GetLanguage()
	case Rust:
		return rust.GetLanguage()
	case TSX:
		return tsx.GetLanguage()
	case TypeScript:
		return typescript.GetLanguage()
	default:
		return nil
	}
}

// walker looks for bodies in a tree.
type walker struct {
	lang   Language
	source string
	lines  []string
	found  []Body
	end    int // of the last body
}

// bodies walks the tree without descending into functions. It returns false
// when the tree is too deep.
func (w *walker) bodies(root *sitter.Node) ([]Body, bool) {
	cursor := sitter.NewTreeCursor(root)
	defer cursor.Close()
	for depth := 0; ; {
		n := cursor.CurrentNode()
		inside := true
		if n.IsNamed() && isFunction(w.lang, n.Type()) {
			inside = !w.function(n)
		}
		if inside && cursor.GoToFirstChild() {
			if depth++; depth > maxDepth {
				return nil, false
			}
			continue
		}
		for !cursor.GoToNextSibling() {
			if !cursor.GoToParent() {
				return w.found, true
			}
			depth--
		}
	}
}

// isFunction reports whether a node is of a kind that has a body to leave out.
func isFunction(lang Language, kind string) bool {
	switch lang {
	case Go:
		return kind == "function_declaration" || kind == "method_declaration" || kind == "func_literal"
	case Python, C, CPP:
		return kind == "function_definition"
	case Rust:
		return kind == "function_item"
	case Java:
		return kind == "method_declaration" || kind == "constructor_declaration"
	case Ruby:
		return kind == "method" || kind == "singleton_method"
	case JavaScript, TypeScript, TSX:
		switch kind {
		case "function_declaration", "generator_function_declaration", "function", "function_expression",
			"generator_function", "method_definition", "arrow_function":
			return true
		}
	}
	return false
}

// function adds the body of a function, if it has lines of its own, and reports
// whether it did.
func (w *walker) function(n *sitter.Node) bool {
	var b Body
	switch w.lang {
	case Python:
		b = w.block(n.ChildByFieldName("body"))
	case Ruby:
		b = w.method(n)
	default:
		b = w.braces(n.ChildByFieldName("body"))
	}
	if b.First < w.end || b.End <= b.First {
		return false
	}
	w.found = append(w.found, b)
	w.end = b.End
	return true
}

// braces is the lines between the one with the opening brace and the one with
// the closing brace, which has nothing in front of it.
func (w *walker) braces(n *sitter.Node) Body {
	if n == nil || int(n.EndByte()) > len(w.source) || w.source[n.StartByte()] != '{' || w.source[n.EndByte()-1] != '}' {
		return Body{}
	}
	first, last := int(n.StartPoint().Row), int(n.EndPoint().Row)
	if last <= first || !w.alone(n, len("}")) {
		return Body{}
	}
	return Body{First: first + 1, End: last}
}

// alone reports whether nothing stands in front of what a node ends with.
func (w *walker) alone(n *sitter.Node, size int) bool {
	end := n.EndPoint()
	return strings.TrimSpace(w.lines[end.Row][:max(int(end.Column)-size, 0)]) == ""
}

// method is the lines between a signature and its end.
func (w *walker) method(n *sitter.Node) Body {
	signature := n.ChildByFieldName("parameters")
	if signature == nil {
		signature = n.ChildByFieldName("name")
	}
	if signature == nil {
		return Body{}
	}
	first, last := int(signature.EndPoint().Row), int(n.EndPoint().Row)
	if last <= first || !strings.HasSuffix(w.source[:n.EndByte()], "end") || !w.alone(n, len("end")) {
		return Body{}
	}
	return Body{First: first + 1, End: last}
}

// block is the lines of an indented block behind its docstring.
func (w *walker) block(n *sitter.Node) Body {
	if n == nil || n.NamedChildCount() == 0 {
		return Body{}
	}
	begin := n.NamedChild(0)
	if begin.Type() == "expression_statement" && begin.NamedChildCount() == 1 && begin.NamedChild(0).Type() == "string" {
		if begin = n.NamedChild(1); begin == nil {
			return Body{}
		}
	}
	first, last := int(begin.StartPoint().Row), int(n.EndPoint().Row)
	if n.EndPoint().Column == 0 {
		last--
	}
	line := w.lines[first]
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if len(indent) != int(begin.StartPoint().Column) { // on the line of something else
		return Body{}
	}
	return Body{First: first, End: last + 1, Stub: indent + "pass"}
}
