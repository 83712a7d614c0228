// Package wiretest writes request bodies in every form results of tools come in:
// every dialect, every path, every kind of result, and in them every shape that
// real clients give a result. Tests cross the two and hold each cell to what
// they check, so that no form is forgotten where it matters.
//
// It imports nothing of this module, so that the parser's own tests can use it:
// a dialect is named by its string.
package wiretest
