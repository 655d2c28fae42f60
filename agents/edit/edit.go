// Package edit turns the answer of an adviser (a language model, or the rules)
// into changes of source text, or says why not.
//
// In flows an answer and the sources that may be changed; out flows, for each
// edit of the answer, the changed lines in the coordinates of the old and of
// the new text, or a Rejection with its Reason. Steps, each of its own use:
//
//  1. Parse reads the answer: search/replace blocks and unified diffs, with the
//     evidence that each edit cites and the metrics that it is to move.
//  2. Apply finds the text to replace, holds the edit against the Rules and
//     makes the new text. Nothing is written.
//  3. Patch.Write writes the new text below a folder, and nowhere else.
//
// Format writes an edit as Parse reads it. Text is searched for exactly, then
// with any white space taken as alike; what is found twice is not guessed at.
// What is asked of the lines of an answer is in Instructions.
//
// Sources are of the C family: C, C++, CUDA, HIP, OpenCL C. Nothing here runs.
package edit

import (
	"fmt"
	"strings"
)

// Direction says which way a metric is predicted to move.
type Direction string

// Directions, spelled as insight's.
const (
	Up   Direction = "up"
	Down Direction = "down"
)

// Prediction is a metric with the direction in which an edit is to move it.
type Prediction struct {
	Metric    string    `json:"metric"`
	Direction Direction `json:"direction"`
}

// Hunk replaces lines of one file by others. Lines have no line ends.
type Hunk struct {
	File    string   `json:"file"` // as the answer names it, without the a/ and b/ of git
	Search  []string `json:"search,omitempty"`
	Replace []string `json:"replace,omitempty"`
	// At is the line where a unified diff says that Search begins, from 1; 0 where
	// nothing is said. It decides only between places that match exactly.
	At   int `json:"at,omitempty"`
	Line int `json:"line,omitempty"` // of the answer, where the hunk begins
}

// Edit is one change with its reason. It is applied as a whole or not at all.
type Edit struct {
	Evidence    []string     `json:"evidence,omitempty"` // cited ids, in upper case, each once
	Predictions []Prediction `json:"predictions,omitempty"`
	Why         string       `json:"why,omitempty"`
	Hunks       []Hunk       `json:"hunks"`
	Line        int          `json:"line,omitempty"`    // of the answer, where the edit begins
	Ignored     []string     `json:"ignored,omitempty"` // what its evidence and predict lines say that is neither id nor prediction
}

// Answer is what an answer holds.
type Answer struct {
	Edits []Edit `json:"edits"`
	// Problems are parts that were meant as edits and are none.
	Problems []Rejection `json:"problems,omitempty"`
}

// Reason is why an edit was rejected.
type Reason string

// Reasons.
const (
	Malformed       Reason = "malformed"        // a block or diff that does not end, has no file, or makes no sense
	Oversize        Reason = "oversize"         // more text than the rules allow
	Binary          Reason = "binary"           // a NUL, or no UTF-8
	PathEscape      Reason = "path escape"      // absolute, with "..", or through a symbolic link
	NewFile         Reason = "new file"         // a file that is not among the sources
	ReadOnly        Reason = "read-only file"   // a source of which no line may be changed
	EmptiedFile     Reason = "emptied file"     // nothing of the file would be left
	NotFound        Reason = "not found"        // the search text is not in the file
	NotUnique       Reason = "not unique"       // the search text is at several places
	NoOp            Reason = "no-op"            // nothing, or only white space and comments, would change
	Outside         Reason = "outside"          // a line that is not editable would change, or change its meaning
	Overlap         Reason = "overlap"          // another accepted edit changes the same lines
	SignatureChange Reason = "signature change" // a function or kernel would have another signature, or be gone
	NoEvidence      Reason = "no evidence"      // no id is cited
	UnknownEvidence Reason = "unknown evidence" // an id is cited that was not supplied
)

// Reasons lists them all.
func Reasons() []Reason {
	return []Reason{Malformed, Oversize, Binary, PathEscape, NewFile, ReadOnly, EmptiedFile, NotFound, NotUnique, NoOp, Outside, Overlap,
		SignatureChange, NoEvidence, UnknownEvidence}
}

// Rejection says why an edit, or a part of an answer, was not taken. It is an
// error, written so that an adviser can do better with it.
type Rejection struct {
	Reason Reason `json:"reason"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"` // of the answer; 0 where it is not from one
	Detail string `json:"detail"`         // what was found, and what to do
}

func (r *Rejection) Error() string {
	var at []string
	if r.Line > 0 {
		at = append(at, fmt.Sprintf("line %d of the answer", r.Line))
	}
	if r.File != "" {
		at = append(at, r.File)
	}
	if len(at) > 0 {
		return fmt.Sprintf("edit rejected (%s) at %s: %s", r.Reason, strings.Join(at, ", "), r.Detail)
	}
	return fmt.Sprintf("edit rejected (%s): %s", r.Reason, r.Detail)
}

// Range is lines of a text from 1, both ends included. A range that is empty,
// such as the old lines of an insertion, has End one below Start: the place is
// before line Start.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Len is the number of lines.
func (r Range) Len() int { return r.End - r.Start + 1 }

func (r Range) String() string {
	switch {
	case r.Len() == 1:
		return fmt.Sprint(r.Start)
	case r.Len() <= 0:
		return fmt.Sprintf("before %d", r.Start)
	}
	return fmt.Sprintf("%d-%d", r.Start, r.End)
}
