// Package report adds up what came of replayed conversations and prints it: for
// people, as JSON, and as tables that set several setups side by side.
package report
