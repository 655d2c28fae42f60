// Package folded reads folded stacks, also called collapsed: the input of
// flame graphs, as the stackcollapse scripts, inferno-collapse, async-profiler
// (-o collapsed), py-spy (-f raw), bpftrace's and bcc's tools (-f) and rbspy
// write it.
//
// In flows a line per stack: its frames from the outermost one, with semicolons
// between them, a blank, and how often it was seen. Blank lines and lines that
// begin with "# " are passed over. Where all lines have two counts, as
// difffolded.pl writes them, they are those before and after.
//
//	main;solve;step 120
//	main;io_[k] 7
//
// Out flow one run, and as regions, kind "function", the tree of calls: one per
// path of frames. Its raw name is the frame; its short name is without what
// tools add to names:
//
//	unix`idle          DTrace: the module is "unix"
//	step (solve.py:12) py-spy, rbspy: attributes file and line
//	read_[k]           attribute code: "kernel"; _[j] "jit", _[i] "inlined",
//	                   _[w] "waker", _[0] "interpreted", _[1] "c1"
//
// A launch is what was seen in one region itself, without what it called, with
// the counter "samples"; where there are two counts, "samples.before" and
// "samples.after". The format does not say what its numbers count: they are
// bytes, ns or us where the profiler was told to weigh by them, and "samples"
// holds them as they are. A stack that is there twice adds up. Samples without a
// frame, which py-spy writes as a blank and a count, are of no region: a warning
// counts them.
package folded

import (
	"bytes"
	"context"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/stacktree"
	"github.com/rooflab/rooflab/datasets"
)

const (
	format = "folded-stacks"
	runID  = 1
)

func init() {
	collectors.Register(collectors.Format{Name: format, About: "folded (collapsed) stacks: stackcollapse, async-profiler, py-spy, bcc, bpftrace", Version: 1, Detect: detect, Parse: parse})
}

// looks is how many lines Detect looks at.
const looks = 200

// counted are the whole lines of a file's beginning that a stack could be in.
func counted(h collectors.Head) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(h.Bytes) {
			if line[len(line)-1] != '\n' && !h.Whole {
				return
			}
			text := bytes.TrimRight(line, "\r\n")
			if !passed(text) && !frameless(text) && !yield(text) {
				return
			}
		}
	}
}

// detect wants every line to be a stack with a count, and half of them to have
// two frames: one name and one number in a line are anything.
func detect(h collectors.Head) collectors.Confidence {
	stacks, deep := 0, 0
	for text := range counted(h) {
		if stacks == looks {
			break
		}
		stack, _, ok := cutCount(text)
		if !ok {
			return collectors.No
		}
		stacks++
		if i := bytes.IndexByte(stack, ';'); i > 0 {
			if !bytes.ContainsFunc(stack[:i], isLetter) && !bytes.ContainsFunc(stack[i:], isLetter) {
				return collectors.No // numbers in columns
			}
			deep++
		}
	}
	switch {
	case deep == 0 || deep*2 < stacks:
		return collectors.No
	case strings.HasSuffix(h.Name, ".folded"), strings.HasSuffix(h.Name, ".collapsed"):
		return collectors.Certain
	}
	return collectors.Likely
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 }

// passed tells lines that are no stacks.
func passed(text []byte) bool {
	return len(bytes.TrimSpace(text)) == 0 || bytes.HasPrefix(text, []byte("# ")) || len(text) == 1 && text[0] == '#'
}

// frameless tells a blank and counts: of samples whose stack has no frame.
func frameless(text []byte) bool {
	if len(text) == 0 || text[0] != ' ' {
		return false
	}
	for f := range bytes.FieldsSeq(text) {
		if !isCount(f) {
			return false
		}
	}
	return true
}

// cutCount cuts the count off the end of a line. ok says whether there is one
// with something before it.
func cutCount(text []byte) (stack, count []byte, ok bool) {
	text = bytes.TrimRight(text, " \t")
	i := bytes.LastIndexAny(text, " \t")
	if i <= 0 || !isCount(text[i+1:]) {
		return text, nil, false
	}
	stack = bytes.TrimRight(text[:i], " \t")
	return stack, text[i+1:], len(bytes.TrimSpace(stack)) > 0
}

// isCount knows digits, and digits with a fraction.
func isCount(s []byte) bool {
	points := 0
	for _, c := range s {
		switch {
		case c == '.':
			points++
		case c < '0' || c > '9':
			return false
		}
	}
	return len(s) > 0 && s[0] != '.' && points <= 1
}

// isDifference tells by the beginning of a file whether all its lines have two
// counts. "a;b 2 1" alone could be one of a frame "b 2".
func isDifference(h collectors.Head) bool {
	lines := 0
	for text := range counted(h) {
		stack, _, ok := cutCount(text)
		if !ok {
			return false
		}
		if _, _, ok = cutCount(stack); !ok {
			return false
		}
		lines++
	}
	return lines > 0
}

type reader struct {
	in    *collectors.Input
	tree  *stacktree.Tree
	two   bool // counts before and after
	names map[string]stacktree.Frame
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, two: isDifference(in.Head), names: map[string]stacktree.Frame{}}
	run := datasets.Run{ID: runID, Tool: "folded stacks", Format: format, Status: datasets.RunOK, TimeMetric: "samples"}
	metrics := []stacktree.Metric{{Name: "samples"}}
	if r.two {
		metrics = []stacktree.Metric{{Name: "samples.before"}, {Name: "samples.after"}}
		run.TimeMetric = "samples.after"
	}
	r.tree = stacktree.New(out, runID, metrics...)
	stacks, empty := 0, 0
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		if passed(l.Text) {
			continue
		}
		if !l.Ended {
			return in.Cut(l.Number, len(l.Text), "its count may lack digits: if the file is whole, end it with a newline; else get it again")
		}
		stacks++
		if frameless(l.Text) {
			empty++
			continue
		}
		if err := r.stack(l); err != nil {
			return err
		}
	}
	if empty > 0 {
		out.Warn(0, 0, "%d lines have a count without a frame: those samples are of no region", empty)
	}
	if stacks == 0 {
		e := in.Syntax(1, 1, "the file holds no stack")
		e.Expected, e.Hint = `lines as "main;solve 12"`, "make it again, and see whether the profiler took samples"
		return e
	}
	if err := r.tree.Emit([]string{""}); err != nil {
		return err
	}
	return out.Put(&run)
}

// stack counts one line.
func (r *reader) stack(l collectors.Line) error {
	var counts [2]float64
	n := 1
	if r.two {
		n = 2
	}
	rest := l.Text
	for i := n - 1; i >= 0; i-- {
		stack, count, ok := cutCount(rest)
		if !ok {
			e := r.in.Syntax(l.Number, len(rest)+1, "the line is no stack with a count behind it")
			e.Expected, e.Found = `frames with ";" between them, a blank and a number, as "main;solve 12"`, collectors.Quote(string(l.Text))
			if r.two {
				e.Expected = `two counts behind the stack, as in the lines above`
			}
			e.Hint = "take the line out if the profiler did not write it, or make the file again"
			return e
		}
		v, err := strconv.ParseFloat(string(count), 64)
		if err != nil || math.IsInf(v, 0) {
			e := r.in.Syntax(l.Number, len(stack)+2, "the count does not fit a number of 64 bits")
			e.Found, e.Hint = collectors.Quote(string(count)), "the file is damaged: make it again"
			return e
		}
		counts[i], rest = v, stack
	}
	region := int64(0)
	for more := true; more; {
		var text []byte
		var err error
		text, rest, more = bytes.Cut(rest, []byte(";"))
		f, known := r.names[string(text)]
		if !known {
			f = frame(string(text))
			r.names[f.Raw] = f
		}
		if region, err = r.tree.Region(region, f); err != nil {
			return err
		}
	}
	for i, v := range counts[:n] {
		r.tree.Add(region, 0, i, v)
	}
	return nil
}

// codes are the marks that tools put behind the names of frames.
var codes = map[string]string{"_[k]": "kernel", "_[j]": "jit", "_[i]": "inlined", "_[w]": "waker", "_[0]": "interpreted", "_[1]": "c1"}

const markLength = len("_[k]")

// located is how py-spy and rbspy write frames; without a line number py-spy
// names the file alone.
var located = regexp.MustCompile(`^(.+?) \(([^()]+?)(?::(\d+))?\)$`)

func frame(raw string) stacktree.Frame {
	f := stacktree.Frame{Raw: raw, Name: strings.TrimSpace(raw)}
	if i := len(f.Name) - markLength; i > 0 && codes[f.Name[i:]] != "" {
		f.Name, f.Code = f.Name[:i], codes[f.Name[i:]]
	}
	if m := located.FindStringSubmatch(f.Name); m != nil && strings.Contains(m[2], ".") {
		f.Name, f.File, f.Line = m[1], m[2], m[3]
	}
	if module, name, ok := strings.Cut(f.Name, "`"); ok && module != "" && name != "" && !strings.ContainsAny(module, " <(") {
		f.Module, f.Name = module, name
		if i := strings.LastIndex(name, "+0x"); i > 0 && strings.Trim(name[i+3:], "0123456789abcdef") == "" {
			f.Name = name[:i]
		}
	}
	return f
}
