package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/prompt"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// dialectNamed returns the dialect that a word in a file name, or a capture's
// "dialect", means.
func dialectNamed(word string) (d wire.Dialect, ok bool) {
	switch d = wire.Dialect(word); d {
	case wire.OpenAIChat, wire.OpenAIResponses, wire.AnthropicMessages, wire.AnthropicPlatform, wire.Gemini, wire.BedrockConverse:
		return d, true
	}
	switch word {
	case "openai":
		return wire.OpenAIChat, true
	case "anthropic":
		return wire.AnthropicMessages, true
	case "responses":
		return wire.OpenAIResponses, true
	case "gemini":
		return wire.Gemini, true
	case "converse":
		return wire.BedrockConverse, true
	default:
		return "", false
	}
}

// format takes the name of a transcript, ID.FORMAT.json, apart.
func format(name string) (id string, d wire.Dialect, ok bool) {
	stem, isJSON := strings.CutSuffix(name, ".json")
	at := strings.LastIndexByte(stem, '.')
	if !isJSON || at <= 0 {
		return "", "", false
	}
	d, ok = dialectNamed(stem[at+1:])
	return stem[:at], d, ok
}

// Load finds the conversations in files and, with everything below them, in
// folders: transcripts named ID.FORMAT.json and captures named *.jsonl. A file
// that is named itself may have any name. What cannot be read is left out and
// described in notes, with its place. The error is about the paths themselves.
func Load(paths ...string) (conversations []*Conversation, notes []string, err error) {
	l := loader{}
	for _, path := range paths {
		if err := l.path(filepath.Clean(path)); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(l.found, func(a, b *Conversation) int {
		return strings.Compare(a.Set+"\x00"+string(a.Dialect), b.Set+"\x00"+string(b.Dialect))
	})
	return l.found, l.notes, nil
}

type loader struct {
	found []*Conversation
	notes []string
}

func (l *loader) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

func (l *loader) path(root string) error {
	info, err := os.Stat(root)
	if err != nil {
		return fmt.Errorf("read conversations: %w", err)
	}
	if !info.IsDir() {
		return l.file(filepath.Base(filepath.Dir(root)), root, true)
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		set, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if set == "." {
			set = filepath.Base(root)
		}
		return l.file(filepath.ToSlash(set), path, false)
	})
	if err != nil {
		return fmt.Errorf("read conversations in %s: %w", root, err)
	}
	return nil
}

// file looks at one file. One that was named has to be a conversation.
func (l *loader) file(set, path string, named bool) error {
	base := filepath.Base(path)
	if ext := filepath.Ext(base); ext == ".jsonl" || ext == ".ndjson" {
		return l.capture(set, path)
	}
	id, dialect, known := format(base)
	switch {
	case known:
	case named:
		id = strings.TrimSuffix(base, filepath.Ext(base))
	case filepath.Ext(base) == ".json":
		l.note("%s: left out, its name does not end in .FORMAT.json with a FORMAT of openai, anthropic, responses, gemini or converse", path)
		return nil
	default:
		return nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !known {
		if dialect, known = Guess(body); !known {
			l.note("%s: left out, it is not a request of a known API; name it ID.FORMAT.json, or NAME.jsonl if it holds a request per line", path)
			return nil
		}
	}
	requests, err := count(body)
	if err != nil {
		l.note("%s: left out, %v", path, err)
		return nil
	}
	l.found = append(l.found, &Conversation{Set: set, ID: id, Dialect: dialect, path: path, requests: requests})
	return nil
}

// count returns the number of requests that a transcript stands for.
func count(body []byte) (int, error) {
	o, err := prompt.Read(body)
	if err != nil {
		return 0, err
	}
	cuts := o.Cuts()
	if len(cuts) == 0 {
		return 0, errors.New("it holds no request: no message stands in front of the model's first one")
	}
	return len(cuts), nil
}
