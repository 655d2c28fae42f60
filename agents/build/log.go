package build

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Severities of a Message.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Message is what a compiler, linker or make says.
type Message struct {
	File     string // as in the log; "" where it is about none
	Line     int    // 1 is the first; 0 where it is about none
	Column   int    // likewise
	Severity string
	Text     string
}

func (m Message) String() string {
	var b strings.Builder
	if m.File != "" {
		b.WriteString(m.File + ":")
		if m.Line > 0 {
			fmt.Fprintf(&b, "%d:", m.Line)
		}
		if m.Column > 0 {
			fmt.Fprintf(&b, "%d:", m.Column)
		}
		b.WriteString(" ")
	}
	return b.String() + m.Severity + ": " + m.Text
}

// form is one way to write a message. Groups are named; severity is used where
// there is no such group.
type form struct {
	re       *regexp.Regexp
	severity string
}

// forms are looked at in order; the first that fits a line counts.
var forms = []form{
	// gcc, clang, hipcc, icx, and OpenCL drivers that are made of clang: PoCL,
	// NVIDIA's, AMD's ("<program source>", "<kernel>", "input.cl").
	{re: regexp.MustCompile(`^(?P<file>[^\s:(][^:(]*|<[^>]*>):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<severity>fatal error|error|warning|note): (?P<text>.*)$`)},
	// PoCL: "error: /cache/tempfile_ab12cd.cl:2:10: use of ..."
	{re: regexp.MustCompile(`^(?P<severity>error|warning): (?P<file>[^\s:(][^:(]*|<[^>]*>):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)$`)},
	// nvcc's front end, and EDG's others: "k.cu(12): error: identifier ..."
	{re: regexp.MustCompile(`^(?P<file>[^\s:(][^:(]*)\((?P<line>\d+)\): (?P<severity>catastrophic error|error|warning)(?: #[\w-]+)?: (?P<text>.*)$`)},
	// NVIDIA's HPC compilers: "NVC++-S-0039-Use of undeclared variable x (k.cpp: 3)"
	{re: regexp.MustCompile(`^(?:NVC|NVC\+\+|NVFORTRAN|PGC|PGCC)-(?P<severity>[SFW])-\d+-(?P<text>.*) \((?P<file>[^:()]+): (?P<line>\d+)\)$`)},
	// The linker, with debug information and without.
	{re: regexp.MustCompile(`^(?:\S*ld(?:\.\w+)?: )?(?P<file>[^\s:]+):(?P<line>\d+): (?P<text>undefined reference to .*|multiple definition of .*)$`), severity: Error},
	{re: regexp.MustCompile(`^(?:\S*ld(?:\.\w+)?: )?(?P<file>[^\s:]+):(?:\S+:)?\([^)]*\): (?P<text>undefined reference to .*|multiple definition of .*)$`), severity: Error},
	{re: regexp.MustCompile(`^\S*(?:ld(?:\.\w+)?|mold): (?:fatal: |error: )?(?P<text>(?:cannot find|undefined symbol|cannot open|unrecogni).*)$`), severity: Error},
	// What is about no file: drivers, ptxas, make, the shell.
	{re: regexp.MustCompile(`^(?:\S*(?:gcc|g\+\+|cc1|cc1plus|c\+\+|clang|clang\+\+|clang-\d+|collect2|nvcc|hipcc|nvlink|ptxas|fatbinary|lld)) ?(?:\S+ )?(?P<severity>fatal error|fatal|error|warning) *: (?P<text>.*)$`)},
	{re: regexp.MustCompile(`^g?make(?:\[\d+\])?: \*\*\* (?P<text>.*?)(?:\.  Stop\.)?$`), severity: Error},
	{re: regexp.MustCompile(`^(?:sh|bash): (?:line )?\d+: (?P<text>.*)$`), severity: Error},
}

// mostMessages are parsed: a template error has thousands.
const mostMessages = 200

// Parse finds the messages in a log of gcc, clang, nvcc, hipcc, NVIDIA's HPC
// compilers, OpenCL drivers, linkers and make.
func Parse(log string) []Message {
	var out []Message
	for line := range strings.Lines(log) {
		if len(out) == mostMessages {
			break
		}
		if m, ok := parse(strings.TrimRight(line, "\r\n")); ok && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func parse(line string) (Message, bool) {
	for _, f := range forms {
		groups := f.re.FindStringSubmatch(line)
		if groups == nil {
			continue
		}
		m := Message{Severity: f.severity}
		for i, name := range f.re.SubexpNames() {
			switch v := groups[i]; name {
			case "file":
				m.File = v
			case "line":
				m.Line, _ = strconv.Atoi(v) // digits; what does not fit is as good as unknown
			case "column":
				m.Column, _ = strconv.Atoi(v)
			case "severity":
				m.Severity = severity(v)
			case "text":
				m.Text = v
			}
		}
		return m, true
	}
	return Message{}, false
}

func severity(word string) string {
	switch word {
	case "warning", "W":
		return Warning
	case "note":
		return Note
	}
	return Error
}

// escapes are those that color a terminal.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")

// Names that are drawn anew for each build, and so would make two logs of the
// same build different.
var (
	poclSource = regexp.MustCompile(`[^\s:]*/tempfile_\w+\.cl\b`)
	gccFile    = regexp.MustCompile(`/tmp/cc[A-Za-z0-9]{6}(\.\w+)`)
	clangFile  = regexp.MustCompile(`(/tmp/[^\s:/]+)-[0-9a-f]{6}(\.\w+)`)
)

// clean makes a log text, with paths relative to the sources.
func clean(log string) string {
	log = escapes.ReplaceAllString(strings.ToValidUTF8(log, "�"), "")
	log = strings.ReplaceAll(log, "\r\n", "\n")
	log = strings.ReplaceAll(log, sandbox.Work+"/", "")
	log = poclSource.ReplaceAllString(log, "<program source>")
	log = gccFile.ReplaceAllString(log, "/tmp/cc$1")
	log = clangFile.ReplaceAllString(log, "$1$2")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, log)
}

// shorten cuts whole lines out of the middle, so that at most about so many
// bytes are left: what compilers say first is the cause, and how it ended is
// last.
func shorten(log string, most int) (string, bool) {
	if len(log) <= most {
		return log, false
	}
	head, tail := log[:most*3/4], log[len(log)-most/4:]
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for !utf8.ValidString(tail) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s[... %d bytes left out ...]\n%s", head, len(log)-len(head)-len(tail), tail), true
}
