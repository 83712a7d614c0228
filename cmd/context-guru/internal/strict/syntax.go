package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxBytes bounds a document. Settings written by people are far smaller; the
// bound keeps a wrong file name from being parsed for minutes.
const MaxBytes = 1 << 20

// The parser writes places into its messages only.
var (
	yamlLine   = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)
	yamlParsed = regexp.MustCompile(`^did not find expected (?:',' or '[]}]'|key|'-' indicator|node content|<document start>)$`)
	yamlAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced`)
)

// parse returns the document's root node, nil when it is empty.
func parse(data []byte) (root *yaml.Node, fault *Fault) {
	// The parser signals its own errors by panics it recovers; a panic that is
	// none of those is a bug of it that must not end the process.
	defer func() {
		if p := recover(); p != nil {
			root, fault = nil, &Fault{Problem: fmt.Sprintf("cannot be read as YAML: %v", p), Cure: "simplify the document"}
		}
	}()
	if fault := unreadable(data); fault != nil {
		return nil, fault
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxFault(data, err)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxFault(data, err)
	default:
		return nil, &Fault{
			Line: second.Line, Column: second.Column,
			Problem: "a second YAML document starts here", Cure: "keep one document and remove the line ---",
		}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// unreadable judges the bytes before the parser does, because the parser does
// not say where a byte it refuses stands.
func unreadable(data []byte) *Fault {
	if len(data) > MaxBytes {
		return &Fault{
			Problem: fmt.Sprintf("has %d bytes, at most %d are read", len(data), MaxBytes),
			Cure:    "check that this is the configuration file",
		}
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			f := at(data, i)
			f.Problem, f.Cure = fmt.Sprintf("byte 0x%02x is not UTF-8", data[i]), "save the file as UTF-8"
			return &f
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f:
			f := at(data, i)
			f.Problem, f.Cure = fmt.Sprintf("control character 0x%02x", data[i]), "remove it"
			return &f
		}
		i += size
	}
	return nil
}

// at is a fault at a byte offset.
func at(data []byte, offset int) Fault {
	before := data[:offset]
	return Fault{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
	}
}

func syntaxFault(data []byte, err error) *Fault {
	message := err.Error()
	if m := yamlAnchor.FindStringSubmatch(message); m != nil {
		f := at(data, max(0, bytes.Index(data, []byte("*"+m[1]))))
		f.Problem, f.Cure = noAlias, aliasCure
		return &f
	}
	f := Fault{Line: 1} // the parser names every line but the first
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		message = m[2]
		if yamlParsed.MatchString(message) {
			f.Line++ // these places count from 0
		}
		// Behind the last line is none.
		f.Line = min(f.Line, at(data, len(bytes.TrimRight(data, "\n"))).Line)
	}
	f.Problem = "not valid YAML: " + strings.TrimPrefix(message, "yaml: ")
	switch {
	case strings.Contains(message, "tab character"), strings.Contains(message, "cannot start any token") && bytes.Contains(data, []byte("\t")):
		f.Cure = "indent with spaces, never with tabs"
	case strings.Contains(message, "cannot start any token"):
		f.Cure = "put a value that starts with a special character in quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		f.Cure = "put a value that holds a colon and a blank in quotes, and check the indentation"
	case strings.Contains(message, "expected ',' or"):
		f.Cure = "close the bracket that opens on this line or above it, with commas between the values"
	case strings.Contains(message, "unexpected end of stream"):
		f.Cure = "close the quotes"
	default:
		f.Cure = "check indentation, brackets and quotes on this line and the one before"
	}
	return &f
}
