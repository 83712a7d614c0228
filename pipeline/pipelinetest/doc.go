// Package pipelinetest holds what components are tested with.
//
// A component's tests call two functions: Golden runs the examples in its
// testdata folder, and Conform puts it through everything that is asked of
// every component. The law checkers (CheckPrefix, CheckRestore, ...) judge the
// outcomes of a whole pipeline; their counterparts in body.go judge request
// bodies and are given the codec as two functions, so that any dialect and any
// transport can be plugged in.
//
// The oracles (SameJSON, ErrorLine) are written a second time on purpose: they
// share no code with the components they judge.
package pipelinetest
