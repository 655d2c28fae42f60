package agents

import (
	"fmt"
	"slices"
	"strings"
)

// Diff is the unified diff of two texts of a file, with three lines of context,
// as patch and git apply read it; "" where they are the same.
func Diff(name, before, after string) string {
	if before == after {
		return ""
	}
	a, b := textLines(before), textLines(after)
	script := diffLines(a, b)
	var w strings.Builder
	fmt.Fprintf(&w, "--- a/%s\n+++ b/%s\n", name, name)
	const context = 3
	for at := 0; at < len(script); {
		if script[at].kind == ' ' {
			at++
			continue
		}
		first := max(0, at-context)
		last, same := at, 0 // last is the last line that differs
		for k := at; k < len(script) && same <= 2*context; k++ {
			if same++; script[k].kind != ' ' {
				last, same = k, 0
			}
		}
		end := min(len(script), last+1+context)
		hunk := script[first:end]
		n, m := 0, 0
		for _, l := range hunk {
			if l.kind != '+' {
				n++
			}
			if l.kind != '-' {
				m++
			}
		}
		fmt.Fprintf(&w, "@@ -%s +%s @@\n", span(hunk[0].a, n), span(hunk[0].b, m))
		for _, l := range hunk {
			w.WriteByte(l.kind)
			w.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				w.WriteString("\n\\ No newline at end of file\n")
			}
		}
		at = end
	}
	return w.String()
}

// span is a range in the head of a hunk: an empty one names the line before.
func span(at, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", at)
	}
	return fmt.Sprintf("%d,%d", at+1, n)
}

// textLines are the lines of a text with their ends.
func textLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// scriptLine is a line of a diff with how many lines of each side come before.
type scriptLine struct {
	kind byte // ' ', '-' or '+'
	text string
	a, b int
}

// diffCells bounds the table of the longest common subsequence; beyond it what
// differs is one block.
const diffCells = 16 << 20

// diffLines is a shortest script that makes b of a, by the longest common
// subsequence of what is left when both ends that are the same are cut off.
func diffLines(a, b []string) []scriptLine {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	var out []scriptLine
	i, j := 0, 0
	emit := func(kind byte, text string) {
		out = append(out, scriptLine{kind, text, i, j})
		if kind != '+' {
			i++
		}
		if kind != '-' {
			j++
		}
	}
	for _, l := range a[:head] {
		emit(' ', l)
	}
	if (len(x)+1)*(len(y)+1) <= diffCells {
		for _, step := range common(x, y) {
			switch step {
			case '-', ' ':
				emit(step, a[i])
			case '+':
				emit('+', b[j])
			}
		}
	} else {
		for _, l := range x {
			emit('-', l)
		}
		for _, l := range y {
			emit('+', l)
		}
	}
	for _, l := range a[len(a)-tail:] {
		emit(' ', l)
	}
	return out
}

// common is the script of two lists as kinds, removals before additions.
func common(x, y []string) []byte {
	width := len(y) + 1
	length := make([]int32, (len(x)+1)*width) // of the longest common subsequence of x[i:] and y[j:]
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var out []byte
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(out, ' ')
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || length[(i+1)*width+j] >= length[i*width+j+1]):
			out = append(out, '-')
			i++
		default:
			out = append(out, '+')
			j++
		}
	}
	return slices.Clip(out)
}
