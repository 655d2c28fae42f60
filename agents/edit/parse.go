package edit

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxAnswer is the size in bytes beyond which an answer is not read, MaxEdits
// the number of edits, and of problems, after which no more are.
const (
	MaxAnswer = 1 << 20
	MaxEdits  = 200
)

// Instructions say how edits are to be written; they are for prompts. Parse
// reads more than they ask for: unified diffs, code fences around either, and
// the name of the file on the line before a block.
const Instructions = `Write each edit as header lines, then one or more blocks:

file: PATH
evidence: IDS
predict: METRIC up|down, METRIC up|down
why: ONE LINE
<<<<<<< SEARCH
lines to replace, copied exactly, without line numbers
=======
lines that replace them
>>>>>>> REPLACE

The search lines must be whole lines that occur once in the file; add lines around them until they do. A new
"evidence:" line begins the next edit. All blocks are searched for in the text as it is shown, not as earlier blocks
left it. A unified diff in place of a block is accepted.
`

// ParseOptions say how to read an answer.
type ParseOptions struct {
	// File is the file of blocks that name none; "": such blocks are malformed.
	File string
}

// Parse reads an answer of any content. What is meant as an edit and cannot be
// read is in Problems; other text is skipped.
func Parse(text string, opt ParseOptions) Answer {
	if len(text) > MaxAnswer {
		return Answer{Problems: []Rejection{{Reason: Oversize, Detail: fmt.Sprintf("the answer has %d bytes, the limit is %d", len(text), MaxAnswer)}}}
	}
	p := parser{lines: strings.Split(text, "\n"), file: opt.File}
	for i, l := range p.lines {
		p.lines[i] = strings.TrimRight(l, "\r")
	}
	for p.at < len(p.lines) {
		if len(p.out.Edits) >= MaxEdits || len(p.out.Problems) >= MaxEdits {
			p.edit = Edit{}
			p.problem(Oversize, p.at, "more than %d edits or problems: the rest of the answer is not read", MaxEdits)
			return p.out
		}
		p.line()
	}
	p.end()
	return p.out
}

type parser struct {
	lines []string
	at    int
	fence string // the marks of the code fence that is open
	file  string
	named string // a line that is a path and nothing else, just before
	edit  Edit   // its header is complete once it has hunks
	bad   bool   // a block of it could not be read
	out   Answer
}

var (
	searchMark  = regexp.MustCompile(`^\s*(<{5,})\s*SEARCH\b\s*(.*)$`)
	fenceMark   = regexp.MustCompile("^\\s*(`{3,}|~{3,})(.*)$")
	headerLine  = regexp.MustCompile(`^[\s>*#-]*(?i:(file|evidence|predict|why))\**\s*:(.*)$`)
	pathLine    = regexp.MustCompile("^[*`\"'#\\s]*([\\w./~+@-]+\\.\\w+)[*`\"':\\s]*$") // heat.c, or **src/heat.c**:
	binaryPatch = regexp.MustCompile(`^(GIT binary patch|Binary files .* differ)$`)
)

// line reads what begins at the current line.
func (p *parser) line() {
	l := p.lines[p.at]
	named := p.named
	p.named = ""
	switch {
	case strings.TrimSpace(l) == "":
		p.named = named
		p.at++
	case p.fenced(l):
		p.named = named
		p.at++
	case searchMark.MatchString(l):
		if named != "" {
			p.file = named
		}
		p.block()
	case p.diffHead(p.at):
		p.diff()
	case strings.HasPrefix(l, "@@"):
		p.hunk(p.file)
	case binaryPatch.MatchString(l):
		p.problem(Binary, p.at, "a binary patch: edits are of text")
		p.at++
	case headerLine.MatchString(l):
		p.header(headerLine.FindStringSubmatch(l))
		p.at++
	default:
		if m := pathLine.FindStringSubmatch(l); m != nil {
			p.named = cleanPath(m[1])
		}
		p.at++
	}
}

// fenced takes note of a code fence.
func (p *parser) fenced(l string) bool {
	m := fenceMark.FindStringSubmatch(l)
	switch {
	case m == nil:
		return false
	case p.fence == "":
		p.fence = m[1]
	case strings.HasPrefix(m[1], p.fence) && strings.TrimSpace(m[2]) == "":
		p.fence = ""
	}
	return true
}

// begin makes the edit that a header line belongs to: a new one after blocks.
// The file of a block stays what it is until another is named.
func (p *parser) begin() {
	if len(p.edit.Hunks) > 0 {
		p.end()
	}
	if p.edit.Line == 0 {
		p.edit.Line = p.at + 1
	}
}

// end puts the current edit away.
func (p *parser) end() {
	if len(p.edit.Hunks) > 0 {
		p.out.Edits = append(p.out.Edits, p.edit)
	} else if p.edit.Line > 0 && !p.bad {
		p.problem(Malformed, p.edit.Line-1, "an edit without a block: write its blocks below its header lines")
	}
	p.edit, p.bad = Edit{}, false
}

func (p *parser) problem(r Reason, line int, format string, args ...any) {
	p.bad = true
	p.out.Problems = append(p.out.Problems, Rejection{Reason: r, File: p.file, Line: line + 1, Detail: fmt.Sprintf(format, args...)})
}

// add takes a hunk that begins at a line of the answer.
func (p *parser) add(h Hunk, line int) {
	if h.File == "" {
		p.problem(Malformed, line, `no file is named: write "file: PATH" above the block`)
		return
	}
	h.Line = line + 1
	if p.edit.Line == 0 {
		p.edit.Line = h.Line
	}
	p.edit.Hunks = append(p.edit.Hunks, h)
}

// block reads a search/replace block. Its marks are as long as the first one,
// so that text which itself holds such lines can be written with longer marks.
func (p *parser) block() {
	open := p.at
	m := searchMark.FindStringSubmatch(p.lines[open])
	p.at++
	n := len(m[1])
	if rest := cleanPath(m[2]); rest != "" {
		p.file = rest
	}
	divider, last := strings.Repeat("=", n), strings.Repeat(">", n)
	h := Hunk{File: p.file}
	divided := false
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		mark := strings.TrimSpace(l)
		switch s := searchMark.FindStringSubmatch(l); {
		case s != nil && len(s[1]) == n:
			p.problem(Malformed, open, "another block begins at line %d before this one ends: end it with %s REPLACE", p.at+1, last)
			return
		case mark == divider && divided:
			p.problem(Malformed, open, "line %d is a second %s in one block: it must hold one", p.at+1, divider)
			p.skip(last)
			return
		case mark == divider:
			divided = true
		case strings.HasPrefix(mark, last) && strings.TrimSpace(mark[n:]) == "REPLACE":
			p.at++
			if !divided {
				p.problem(Malformed, open, "the block has no %s between the text to find and the text to put there", divider)
				return
			}
			p.add(h, open)
			return
		case divided:
			h.Replace = append(h.Replace, l)
		default:
			h.Search = append(h.Search, l)
		}
	}
	p.problem(Malformed, open, "the block does not end: the answer was cut off, or %s REPLACE is missing", last)
}

// skip goes behind the end of a broken block.
func (p *parser) skip(last string) {
	for p.at < len(p.lines) {
		mark := strings.TrimSpace(p.lines[p.at])
		p.at++
		if strings.HasPrefix(mark, last) {
			return
		}
	}
}

// cleanPath is a path as an answer has it without quotes and marks around it,
// and without "./" before it.
func cleanPath(s string) string {
	const marks = "`\"'*<>,: \t\v\f\r\n\u00a0\u0085"
	if rest, ok := strings.CutPrefix(strings.TrimLeft(s, "* \t"), "`"); ok {
		s, _, _ = strings.Cut(rest, "`") // a remark may follow
	}
	for {
		was := s
		s, _, _ = strings.Cut(strings.Trim(s, marks), "\t") // a time follows, in diffs
		s = strings.TrimPrefix(s, "./")
		if s == was {
			return s
		}
	}
}
