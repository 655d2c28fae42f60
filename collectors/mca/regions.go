package mca

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Region is a loop in assembly.
type Region struct {
	Name        string
	Function    string
	Label       string
	File        string // of the source, "" where unknown
	Line        int    // of the jump back, in the source; 0 where unknown
	First, Last int    // lines of the assembly, from 0: the label and the jump
}

var (
	labelLine = regexp.MustCompile(`^([\w.$]+):`)
	typeLine  = regexp.MustCompile(`^\s*\.type\s+([\w.$]+)\s*,\s*[@%]function`)
	locLine   = regexp.MustCompile(`^\s*\.loc\s+(\d+)\s+(\d+)`)
	fileLine  = regexp.MustCompile(`^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?`)
	jumpLine  = regexp.MustCompile(`^\s+([a-z][\w.]*)\s+(?:.*[,\s])?([.\w$]+)\s*(?:#.*|//.*|;.*|@.*)?$`)
	marked    = regexp.MustCompile(`LLVM-MCA-BEGIN`)
)

// Marked says whether assembly marks its own regions.
func Marked(asm string) bool { return marked.MatchString(asm) }

// Loops finds the innermost loops of assembly, in the order of their text.
func Loops(asm string) []Region {
	lines := strings.Split(asm, "\n")
	functions := map[string]bool{}
	labels := map[string]int{} // of the function under way
	files := map[string]string{}
	function, file, line := "", "", 0
	ends := map[int]*Region{} // by the line of the label
	for i, l := range lines {
		if m := typeLine.FindStringSubmatch(l); m != nil {
			functions[m[1]] = true
			continue
		}
		if m := fileLine.FindStringSubmatch(l); m != nil {
			files[m[1]] = m[2]
			if m[3] != "" {
				files[m[1]] = m[3]
			}
			continue
		}
		if m := locLine.FindStringSubmatch(l); m != nil {
			if n, _ := strconv.Atoi(m[2]); n > 0 { // line 0 is no line
				file, line = files[m[1]], n
			}
			continue
		}
		if m := labelLine.FindStringSubmatch(l); m != nil {
			if functions[m[1]] {
				function, labels, file, line = m[1], map[string]int{}, "", 0
			}
			labels[m[1]] = i
			continue
		}
		m := jumpLine.FindStringSubmatch(l)
		if m == nil || call(m[1]) {
			continue
		}
		at, back := labels[m[2]]
		if !back {
			continue
		}
		r := ends[at]
		if r == nil {
			r = &Region{Function: function, Label: m[2], First: at}
			ends[at] = r
		}
		r.Last, r.File, r.Line = i, file, line // the last jump ends the loop
	}
	return innermost(lines, ends)
}

// call says that an instruction comes back: what it names is no loop.
func call(op string) bool {
	return strings.HasPrefix(op, "call") || op == "bl" || op == "jal" || op == "lea" || op == "leaq" || strings.HasPrefix(op, "adr")
}

func innermost(lines []string, ends map[int]*Region) []Region {
	var rs []Region
	names := map[string]int{}
	for i := range lines {
		r := ends[i]
		if r == nil {
			continue
		}
		inner := true
		for at, o := range ends {
			if o != r && at >= r.First && o.Last <= r.Last && (at > r.First || o.Last < r.Last) {
				inner = false
			}
		}
		if !inner {
			continue
		}
		r.Name = r.Function + r.Label
		if !strings.HasPrefix(r.Label, ".") {
			r.Name = r.Function + "." + r.Label
		}
		if r.Line > 0 {
			r.Name = fmt.Sprintf("%s:%d", r.Function, r.Line)
		}
		if names[r.Name]++; names[r.Name] > 1 { // the vectorised loop and what is left over
			r.Name += fmt.Sprintf("#%d", names[r.Name])
		}
		rs = append(rs, *r)
	}
	return rs
}

// Mark writes assembly with marks around regions. They begin with #, which
// llvm-mca reads for every target; AArch64's own // it does not.
func Mark(asm string, rs []Region) string {
	begin, end := map[int]string{}, map[int]string{}
	for _, r := range rs {
		begin[r.First], end[r.Last] = r.Name, r.Name
	}
	var b strings.Builder
	for i, l := range strings.Split(asm, "\n") {
		b.WriteString(l)
		b.WriteByte('\n')
		if name, ok := begin[i]; ok {
			fmt.Fprintf(&b, "# LLVM-MCA-BEGIN %s\n", name)
		}
		if name, ok := end[i]; ok {
			fmt.Fprintf(&b, "# LLVM-MCA-END %s\n", name)
		}
	}
	return b.String()
}
