// Package repl is the terminal front of a Go session. What flows in is text,
// from a person at a line editor (Interactive) or from a stream of cells
// separated by lines "%%%" (Batch); what flows out is what the cells print and
// the text form of what they display, written by a Printer.
//
// The package knows the session only as kernel/session.Session and the
// terminal only as Editor, so both can be played by a test.
package repl
