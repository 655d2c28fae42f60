package edit

import (
	"regexp"
	"strconv"
	"strings"
)

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

const nowhere = "/dev/null"

// diffHead says that a unified diff of a file begins at a line.
func (p *parser) diffHead(i int) bool {
	return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i], "--- ") && strings.HasPrefix(p.lines[i+1], "+++ ")
}

// diff reads the head of a unified diff; its hunks follow.
func (p *parser) diff() {
	name := func(l string) string {
		l, _, _ = strings.Cut(l[4:], "\t") // a time follows
		return l
	}
	before, after := name(p.lines[p.at]), name(p.lines[p.at+1])
	a, gitA := strings.CutPrefix(before, "a/")
	b, gitB := strings.CutPrefix(after, "b/")
	switch {
	case strings.TrimSpace(after) == nowhere:
		if after = before; gitA {
			after = a
		}
	case gitB && (gitA || strings.TrimSpace(before) == nowhere):
		after = b
	}
	if f := cleanPath(after); f != "" {
		p.file = f
	}
	head := p.at
	p.at += 2
	if p.at >= len(p.lines) || !strings.HasPrefix(p.lines[p.at], "@@") {
		p.problem(Malformed, head, "no @@ line follows the names of the diff")
	}
}

// hunk reads a hunk of a unified diff. The numbers in its head say how many
// lines it has; where they are too small or missing, as in answers of models,
// it goes on to the first line that is none of a hunk, but only within a code
// fence, since prose may begin like one.
func (p *parser) hunk(file string) {
	open := p.at
	m := hunkHead.FindStringSubmatch(p.lines[open])
	p.at++
	h := Hunk{File: file}
	before, after := -1, -1 // lines to come; below 0 it is not said
	if m != nil {
		h.At, before, after = count(m[1], 0), count(m[2], 1), count(m[4], 1)
	}
	blank := 0 // lines at the end that have lost their blank, if they are lines of the hunk
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		counted := before > 0 || after > 0
		// Numbers that are too large do not swallow the next file.
		if p.diffHead(p.at) && p.at+2 < len(p.lines) && strings.HasPrefix(p.lines[p.at+2], "@@") && (before != 1 || after != 1) {
			break
		}
		if !counted && (m != nil && p.fence == "" || p.diffHead(p.at) || fenceMark.MatchString(l)) {
			break
		}
		if l == "" {
			if blank++; counted {
				h.Search, h.Replace, blank = append(h.Search, ""), append(h.Replace, ""), 0
				before--
				after--
			}
			continue
		}
		if !strings.Contains(" +-\\", l[:1]) {
			break
		}
		for ; blank > 0; blank-- {
			h.Search, h.Replace = append(h.Search, ""), append(h.Replace, "")
		}
		switch l[0] {
		case ' ':
			h.Search, h.Replace = append(h.Search, l[1:]), append(h.Replace, l[1:])
			before--
			after--
		case '-':
			h.Search = append(h.Search, l[1:])
			before--
		case '+':
			h.Replace = append(h.Replace, l[1:])
			after--
		}
	}
	p.add(h, open)
}

// count is a number of a hunk's head; missing is what its absence says.
func count(s string, missing int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return missing
	}
	return n
}
