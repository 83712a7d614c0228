package toon

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// header is what stands in front of an array: [N], [N]{a,b}.
type header struct {
	length    int
	delimiter byte
	fields    []field // nil without braces
	rest      string  // behind the colon, without blanks around
}

// field is a column of a table, or a group of them.
type field struct {
	name  string
	group []field
}

// maxGroups bounds how deep groups of columns may nest, so that no text can
// exhaust the stack.
const maxGroups = 1000

// parseHeader reads a header from its bracket on.
func parseHeader(text string) (header, error) {
	h := header{delimiter: ','}
	inside, rest, found := strings.Cut(text[1:], "]")
	if !found {
		return h, errors.New("has a bracket that is never closed")
	}
	if number, tab := strings.CutSuffix(inside, "\t"); tab {
		inside, h.delimiter = number, '\t'
	} else if number, pipe := strings.CutSuffix(inside, "|"); pipe {
		inside, h.delimiter = number, '|'
	}
	n, err := strconv.Atoi(inside)
	if err != nil || n < 0 || strconv.Itoa(n) != inside {
		return h, fmt.Errorf("has %q for the length of an array", inside)
	}
	h.length = n
	if strings.HasPrefix(rest, "{") {
		if h.fields, rest, err = parseFields(rest[1:], h.delimiter, 0); err != nil {
			return h, err
		}
	}
	rest, found = strings.CutPrefix(rest, ":")
	if !found {
		return h, errors.New("has no colon behind the length of an array")
	}
	h.rest = strings.Trim(rest, " ")
	return h, nil
}

// parseFields reads columns up to the closing brace and returns what follows.
func parseFields(text string, delimiter byte, depth int) (fields []field, rest string, err error) {
	if depth > maxGroups {
		return nil, "", errors.New("nests groups of columns too deep")
	}
	seen := map[string]bool{}
	for {
		var f field
		if strings.HasPrefix(text, `"`) {
			if f.name, text, err = readQuoted(text); err != nil {
				return nil, "", err
			}
		} else {
			end := strings.IndexAny(text, ",|\t{}\"")
			if end <= 0 {
				return nil, "", errors.New("has a column without a name")
			}
			f.name, text = text[:end], text[end:]
		}
		if seen[f.name] {
			return nil, "", fmt.Errorf("repeats the column %q", f.name)
		}
		seen[f.name] = true
		if strings.HasPrefix(text, "{") {
			if f.group, text, err = parseFields(text[1:], delimiter, depth+1); err != nil {
				return nil, "", err
			}
		}
		fields = append(fields, f)
		switch {
		case text == "":
			return nil, "", errors.New("has a brace that is never closed")
		case text[0] == '}':
			return fields, text[1:], nil
		case text[0] != delimiter:
			return nil, "", fmt.Errorf("has %q between columns", text[0])
		}
		text = text[1:]
	}
}

// splitCells cuts a row or a list of values at the delimiters outside quotes.
func splitCells(text string, delimiter byte) []string {
	var cells []string
	for {
		cell, rest, found := cut(text, delimiter)
		cells = append(cells, strings.Trim(cell, " "))
		if !found {
			return cells
		}
		text = rest
	}
}

// appendCell writes the JSON of a cell. One with nothing in it is the empty
// string.
func appendCell(out []byte, token string) ([]byte, error) {
	if token == "" {
		return append(out, `""`...), nil
	}
	return appendValue(out, token)
}

// appendValue writes the JSON of a value.
func appendValue(out []byte, token string) ([]byte, error) {
	switch {
	case token == "true" || token == "false" || token == "null":
		return append(out, token...), nil
	case token[0] == '"':
		text, rest, err := readQuoted(token)
		if err == nil && rest != "" {
			err = fmt.Errorf("has %q behind a closing quote", rest)
		}
		if err != nil {
			return out, err
		}
		return appendString(out, text)
	case strings.Contains(token, `"`):
		return out, fmt.Errorf("has a quote inside %q", token)
	case (token[0] == '-' || token[0] >= '0' && token[0] <= '9') && json.Valid([]byte(token)):
		return append(out, token...), nil
	default:
		return appendString(out, token)
	}
}

func appendString(out []byte, text string) ([]byte, error) {
	out, err := jsontext.AppendQuote(out, text)
	if err != nil {
		return out, fmt.Errorf("has text without a JSON form: %w", err)
	}
	return out, nil
}

// readQuoted decodes the quoted string a text begins with and returns what
// follows it.
func readQuoted(text string) (value, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], nil
		case '\\':
			n, err := readEscape(&b, text[i+1:])
			if err != nil {
				return "", "", err
			}
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("has a quote that is never closed")
}

// readEscape decodes what follows a backslash and returns its length.
func readEscape(b *strings.Builder, text string) (int, error) {
	if text == "" {
		return 0, errors.New("ends in a backslash")
	}
	switch text[0] {
	case '"', '\\':
		b.WriteByte(text[0])
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'u':
		const size = len("uXXXX")
		if len(text) < size {
			return 0, errors.New(`has a \u that is cut off`)
		}
		n, err := strconv.ParseUint(text[1:size], 16, 16)
		if err != nil || utf16.IsSurrogate(rune(n)) {
			return 0, fmt.Errorf("has the escape \\%s, which is no character", text[:size])
		}
		b.WriteRune(rune(n))
		return size, nil
	default:
		return 0, fmt.Errorf("has the escape \\%c", text[0])
	}
	return 1, nil
}
