package models

import (
	_ "embed" // the snapshot is part of the binary
	"fmt"
	"strings"
)

//go:generate go run ./internal/snapshot -out snapshot.tsv

//go:embed snapshot.tsv
var snapshot string

// Snapshot returns the map in the binary. It parses it anew with each call:
// keep the result.
func Snapshot() (*Map, error) {
	m, err := Parse(snapshot)
	if err != nil {
		return nil, fmt.Errorf("embedded snapshot: %w", err)
	}
	return m, nil
}

// SnapshotSource returns the package and version the snapshot was made from,
// "litellm 1.2.3".
func SnapshotSource() string {
	return SourceOf(snapshot)
}

// SourceOf returns what the second line of a map's text names as its source,
// or "" if it names none.
func SourceOf(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	source, _ := strings.CutPrefix(line, sourcePrefix)
	if source == line {
		return ""
	}
	source, _, _ = strings.Cut(source, ",")
	return source
}

const sourcePrefix = "# from "
