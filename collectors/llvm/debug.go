package llvm

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// place is where an instruction comes from in the source.
type place struct {
	file   string
	line   int
	column int
	depth  int // how many calls were inlined around it
}

var (
	metaLine  = regexp.MustCompile(`\bline: (\d+)`)
	metaCol   = regexp.MustCompile(`\bcolumn: (\d+)`)
	metaScope = regexp.MustCompile(`\bscope: !(\d+)`)
	metaFile  = regexp.MustCompile(`\bfile: !(\d+)`)
	metaInl   = regexp.MustCompile(`\binlinedAt: !(\d+)`)
	metaName  = regexp.MustCompile(`\bfilename: "([^"]*)"`)
	metaDir   = regexp.MustCompile(`\bdirectory: "([^"]*)"`)
)

func ref(re *regexp.Regexp, text string) int {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return -1
	}
	return n
}

// where follows a DILocation to file and line.
func (m *Module) where(id int) place {
	text, ok := m.meta[id]
	if !ok || !strings.Contains(text, "DILocation(") {
		return place{}
	}
	p := place{line: max(0, ref(metaLine, text)), column: max(0, ref(metaCol, text)), file: m.fileOf(ref(metaScope, text))}
	for at := ref(metaInl, text); at >= 0 && p.depth < 1000; p.depth++ {
		at = ref(metaInl, m.meta[at])
	}
	return p
}

// fileOf finds the file of a scope: its own, or that of the scope around it.
func (m *Module) fileOf(id int) string {
	for range 100 {
		text, ok := m.meta[id]
		if !ok {
			return ""
		}
		if f := ref(metaFile, text); f >= 0 {
			return m.fileName(f)
		}
		id = ref(metaScope, text)
	}
	return ""
}

func (m *Module) fileName(id int) string {
	text := m.meta[id]
	name := metaName.FindStringSubmatch(text)
	if name == nil {
		return ""
	}
	// The folder where the compiler ran says nothing about the program; a file
	// elsewhere, a system header, is named in full.
	if dir := metaDir.FindStringSubmatch(text); dir != nil && !filepath.IsAbs(name[1]) && strings.HasPrefix(dir[1], "/usr") {
		return filepath.Join(dir[1], name[1])
	}
	return name[1]
}

// subprogram finds where a function is defined.
func (m *Module) subprogram(id int) (string, int) {
	text := m.meta[id]
	if !strings.Contains(text, "DISubprogram(") {
		return "", 0
	}
	return m.fileOf(id), max(0, ref(metaLine, text))
}
