package collectors

import (
	"fmt"
	"strconv"
	"strings"
)

// SyntaxError says where a file breaks the rules of its format.
type SyntaxError struct {
	File     string
	Line     int // from 1; 0 where the format has no lines
	Column   int // from 1, in bytes; 0 where there is none
	Msg      string
	Expected string // what belongs there
	Found    string // what is there
	Hint     string // what to do
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	b.WriteString(position(e.File, e.Line, e.Column))
	b.WriteString(": ")
	b.WriteString(e.Msg)
	switch {
	case e.Expected != "" && e.Found != "":
		fmt.Fprintf(&b, ": expected %s, found %s", e.Expected, e.Found)
	case e.Expected != "":
		fmt.Fprintf(&b, ": expected %s", e.Expected)
	case e.Found != "":
		fmt.Fprintf(&b, ": found %s", e.Found)
	}
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

func position(file string, line, column int) string {
	if line == 0 {
		return file
	}
	if column == 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// Quote is a text from a file as errors show it: quoted, and cut when long.
func Quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}

// UnsupportedError says that a file was recognised and is not read, and what
// to do instead.
type UnsupportedError struct {
	File string
	What string // what the file is
	Hint string // what to do
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: not imported, for it is %s: %s", e.File, e.What, e.Hint)
}

// PartError says that a file is part of a profile whose main file is another.
type PartError struct {
	File string
	Of   string // the main file
}

func (e *PartError) Error() string {
	return fmt.Sprintf("%s: it is read together with %s: import that, or the folder", e.File, e.Of)
}

// UnknownError says that no format knows a file.
type UnknownError struct {
	File  string
	Empty bool // the file is empty
	// Written: by its name the file is source code or a document, and no format
	// was asked.
	Written bool
	// Packed: the file holds others, or its content compressed by something
	// else than gzip: what it is, and what unpacks it.
	Packed, Unpack string
}

func (e *UnknownError) Error() string {
	if e.Empty {
		return e.File + ": the file is empty"
	}
	if e.Packed != "" {
		return fmt.Sprintf("%s: it is %s, and nothing but gzip is unpacked here: unpack it first (%s) and import what comes out", e.File, e.Packed, e.Unpack)
	}
	if e.Written {
		return fmt.Sprintf("%s: by its name this is source code or a document, which may quote a profile: name a format with --format if it is one all the same (`rooflab import --help` lists them)", e.File)
	}
	known := "`rooflab import --help` lists them"
	if len(Formats()) == 0 {
		known = names()
	}
	return fmt.Sprintf("%s: no format that is known here fits: name one with --format if you know it (%s)", e.File, known)
}

// Warning is something odd in a file that leaves no doubt about any value.
type Warning struct {
	File   string
	Line   int // 0: of the file as a whole
	Column int
	Msg    string
}

func (w Warning) String() string { return position(w.File, w.Line, w.Column) + ": " + w.Msg }
