// Package syntax finds the bodies of functions in source code.
//
// It is the one package that knows the parser, tree-sitter. Where the program
// was built without cgo, or with the tag notreesitter, there is none, and
// Available says so; everything else behaves the same.
//
// What it decides is a function of the source alone: it is bounded by bytes and
// by how often the parser may read the source. Wall clock only ends a parse that
// those did not, which is one of a source that is not well formed and has no
// bodies however long it takes.
package syntax

import (
	"errors"
	"path"
	"strings"
	"unicode/utf8"
)

const (
	// MaxBytes is the longest source that is parsed. Clean code of that length
	// takes 10 to 40 ms.
	MaxBytes = 128 << 10
	// maxLine is the longest line of code that people write and read; what is
	// longer was generated, and is what is slow to parse.
	maxLine = 2000
	// maxDepth is how deep brackets and nodes may nest.
	maxDepth = 200
)

// ErrTimeout reports that a parse took longer than any source within the bounds
// should.
var ErrTimeout = errors.New("parsing takes too long")

// Language is a programming language by the name of its grammar; "" is none.
type Language string

// The languages there are grammars for.
const (
	C          Language = "c"
	CPP        Language = "cpp"
	Go         Language = "go"
	Java       Language = "java"
	JavaScript Language = "javascript"
	Python     Language = "python"
	Ruby       Language = "ruby"
	Rust       Language = "rust"
	TSX        Language = "tsx"
	TypeScript Language = "typescript"
)

// OfFile returns the language of a file by its name.
func OfFile(name string) Language {
	return named(strings.TrimPrefix(strings.ToLower(path.Ext(name)), "."), true)
}

// OfFence returns the language that the info string of a fenced block names.
func OfFence(info string) Language {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	word, _, _ = strings.Cut(word, ",")
	return named(strings.ToLower(word), false)
}

// named returns the language of an extension, or of a name or an extension.
func named(word string, extension bool) Language {
	switch word {
	case "c":
		return C
	case "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx":
		return CPP // which reads what is plain C in a header, too
	case "go":
		return Go
	case "java":
		return Java
	case "js", "jsx", "mjs", "cjs":
		return JavaScript
	case "py", "pyi":
		return Python
	case "rb":
		return Ruby
	case "rs":
		return Rust
	case "tsx":
		return TSX
	case "ts", "mts", "cts":
		return TypeScript
	}
	if extension {
		return ""
	}
	switch word {
	case "c++":
		return CPP
	case "golang":
		return Go
	case "javascript":
		return JavaScript
	case "python", "python3":
		return Python
	case "ruby":
		return Ruby
	case "rust":
		return Rust
	case "typescript":
		return TypeScript
	}
	return ""
}

// Body is the lines of a function behind its signature. Lines count from 0.
type Body struct {
	// First and End are its first line and the one behind its last.
	First, End int
	// Stub is what has to stand in its place for the source to stay well formed,
	// a line without its end, or "" when nothing has to.
	Stub string
}

// parsable reports whether a source is within the bounds. It is linear in the
// length of the source.
func parsable(source string) bool {
	// What is not UTF-8 ends the process: the parser reads it through a null pointer.
	if len(source) > MaxBytes || strings.IndexByte(source, 0) >= 0 || !utf8.ValidString(source) {
		return false
	}
	line, depth, angles := 0, 0, 0
	for i := range len(source) {
		line++
		switch source[i] {
		case '\n':
			line = 0
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '<':
			angles++
		}
		if line > maxLine || depth > maxDepth {
			return false
		}
	}
	const share = 16 // the reciprocal of what of a long source may be angles, about which grammars have to guess
	return angles <= 64+len(source)/share
}
