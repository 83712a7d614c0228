//go:build !cgo || notreesitter

package syntax

import "context"

// Available reports whether there is a parser in this build.
func Available() bool { return false }

// Bodies returns the bodies of the functions in a source, in order and apart
// from each other, and false when the source is not well formed or not within
// the bounds. This build has no parser, so it never is.
func Bodies(context.Context, Language, string) ([]Body, bool, error) { return nil, false, nil }

// Clean reports whether a source is well formed and within the bounds.
func Clean(context.Context, Language, string) (bool, error) { return false, nil }
