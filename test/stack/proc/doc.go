// Package proc runs the real programs that tests and the demo need, keeps what
// they print, and makes sure that none of them outlives its starter.
//
// A [Process] is ended by its own id and never by name. It stands in a process
// group of its own, so that a Ctrl-C reaches the starter alone and the starter
// decides in which order things end; on Linux the kernel kills it when the
// starter dies without having had the chance.
package proc
