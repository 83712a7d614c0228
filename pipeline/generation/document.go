package generation

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Document is what names a generation.
type Document struct {
	// Settings is everything configured that can change an edit, in a canonical
	// form: equal settings have equal bytes. It must not hold a secret.
	Settings []byte
	// Models is the digest of the windows of the models.
	Models [sha256.Size]byte
}

const (
	// idLen is the length of an id: 130 bits of a hash in base32.
	idLen = 26
	// header begins a stored document; the number counts its formats.
	header = "context-guru generation 1\n"
)

// ID returns the generation's id, 26 lower-case base32 characters.
func (d Document) ID() string {
	sum := sha256.Sum256(d.marshal())
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:idLen]
}

// marshal returns the document as it is stored.
func (d Document) marshal() []byte {
	out := append([]byte(header), hex.EncodeToString(d.Models[:])...)
	return append(append(out, '\n'), d.Settings...)
}

// parseDocument reads a stored document and checks that it is the one of an id.
func parseDocument(id string, data []byte) (d Document, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(header))
	line, settings, more := bytes.Cut(rest, []byte("\n"))
	if !ok || !more || hex.DecodedLen(len(line)) != len(d.Models) {
		return d, errors.New("the stored value is not a generation of this format")
	}
	if _, err := hex.Decode(d.Models[:], line); err != nil {
		return d, fmt.Errorf("the digest of the models: %w", err)
	}
	d.Settings = settings
	if d.ID() != id {
		return d, fmt.Errorf("the stored value is that of generation %s", d.ID())
	}
	return d, nil
}

// isID reports whether a stored text has the form of an id.
func isID(text string) bool {
	if len(text) != idLen {
		return false
	}
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
