package stalls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/rooflab/rooflab/kernel/display"
)

// DigestOptions bound a Digest. The zero value is a text of 8000 bytes.
type DigestOptions struct {
	Bytes  int // at most so many, 0: no limit if Tokens is given, else 8000
	Tokens int // at most so many, 0: no limit
	// Count counts the tokens of a text. Without it a token is taken to be
	// three bytes, which is more tokens than code and English have.
	Count func(text string) int
	// Least is the part of all stalled samples from which on a line is always
	// kept; 0 is 0.05.
	Least float64
	// Reduction is how much smaller than the raw samples the text is at least;
	// 0 is 0.999. The raw samples are the rows of the table pc_sample as CSV
	// (Kernel.RawBytes), as the profiler has them: one for a launch, an
	// instruction and a reason. Two things go before it: what must be kept, and,
	// where the rows are below 1 MiB, 2500 bytes, since a thousandth of them could
	// not name a line. Digest.Relaxed says so then.
	Reduction float64
	// ID begins the numbers of statements, "S" where it is empty: S1, S2 ...
	ID string
}

// Statement is one line of a Digest with the numbers it rests on.
type Statement struct {
	ID       string // it stands before the text in the Digest, to be cited
	Text     string
	Evidence []Evidence
}

// Digest is the stalls of kernels as a short text for a prompt.
type Digest struct {
	Text       string
	Statements []Statement
	Bytes      int
	Tokens     int
	RawRows    int64  // of the table pc_sample
	RawBytes   int64  // of these rows as CSV, see DigestOptions.Reduction
	Asked      int    // bytes that DigestOptions.Reduction leaves of these
	Relaxed    string // why Bytes is more than Asked, "" where it is not
	LinesLeft  int    // lines with samples that have no statement, of kernels whose lines are read
	Unread     int    // kernels whose lines are not read, see Options.Kernels
}

// Reduction is how much smaller the text is than the raw samples as CSV
// (RawBytes), 0 to 1; below 0 where it is longer. It is no statement about the
// size of the profile's file, which holds much else.
func (d Digest) Reduction() float64 {
	if d.RawBytes == 0 {
		return 0
	}
	return 1 - float64(d.Bytes)/float64(d.RawBytes)
}

// Find returns the statement with an id.
func (d Digest) Find(id string) (Statement, bool) {
	for _, s := range d.Statements {
		if s.ID == id {
			return s, true
		}
	}
	return Statement{}, false
}

// String is the text.
func (d Digest) String() string { return d.Text }

// Display shows the text and its size.
func (d Digest) Display() display.Bundle {
	size := fmt.Sprintf("%d statements in %d bytes, about %d tokens, of %d rows of samples, which are %d bytes as CSV", len(d.Statements), d.Bytes, d.Tokens, d.RawRows, d.RawBytes)
	if r := d.Reduction(); r > 0 {
		size += fmt.Sprintf(": %.3f %% less than these", math.Floor(1e5*r)/1e3)
	}
	if d.Relaxed != "" {
		size += fmt.Sprintf(" (asked for were %d bytes at most, but %s)", d.Asked, d.Relaxed)
	}
	return display.Bundle{Data: map[string]any{"text/plain": d.Text + size,
		"text/html": `<pre style="white-space:pre-wrap;color:inherit;background:transparent">` + display.Escape(d.Text) + `</pre><div style="opacity:.8">` + display.Escape(size) + `</div>`}}
}

// BudgetError says that what a Digest must hold does not fit.
type BudgetError struct {
	Bytes, Tokens int // what it needs in its shortest form
	Lines         int
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the digest of stalls needs %d bytes (%d tokens) to keep %d lines: give it more, raise DigestOptions.Least, or take fewer kernels", e.Bytes, e.Tokens, e.Lines)
}

// entry is a line of the text in forms from the fullest to the shortest.
type entry struct {
	kernel   int
	section  int // its place in the kernel's part
	forms    [3]string
	evidence [3][]Evidence
	line     bool
	plain    bool // no statement: it has no number
}

// Digest is the digest of all kernels of the analysis. A kernel whose lines are
// not read, though one of them may have to be kept, is read from the store.
func (a *Analysis) Digest(opt DigestOptions) (Digest, error) { return digest(a.Kernels, opt) }

// Digest is the digest of one kernel, which is read from the store where its
// lines are not yet.
func (k *Kernel) Digest(opt DigestOptions) (Digest, error) { return digest([]*Kernel{k}, opt) }

func digest(ks []*Kernel, opt DigestOptions) (Digest, error) {
	if len(ks) == 0 {
		return Digest{}, errors.New("making a digest of stalls: no kernel has PC samples: profile with them (ncu --set full, or --section SourceCounters)")
	}
	if opt.Bytes <= 0 && opt.Tokens <= 0 {
		opt.Bytes = 8000
	}
	if opt.Least <= 0 {
		opt.Least = 0.05
	}
	if opt.Reduction <= 0 {
		opt.Reduction = 0.999
	}
	if opt.ID == "" {
		opt.ID = "S"
	}
	if opt.Count == nil {
		opt.Count = func(text string) int { return (len(text) + 2) / 3 }
	}
	w := writer{ks: ks, opt: opt}
	for _, k := range ks {
		w.all += k.Stalled()
		w.rawBytes += k.RawBytes
		w.rawRows += k.RawRows
	}
	for _, k := range ks {
		if part(k.Stalled(), w.all) < opt.Least {
			continue
		}
		if err := k.Load(context.Background()); err != nil {
			return Digest{}, fmt.Errorf("making a digest of stalls: %w", err)
		}
	}
	w.names = fileNames(ks)
	must, may := w.entries()
	return w.fit(must, may)
}

// writer makes the text of a digest.
type writer struct {
	ks                []*Kernel
	opt               DigestOptions
	names             map[string]string // short ones of files
	all               int64
	rawBytes, rawRows int64
}

// mostTried is how many entries are tried beyond those that must be there.
const mostTried = 1000

// fit chooses forms and entries.
func (w *writer) fit(must, may []entry) (Digest, error) {
	inBudget := func(d Digest) bool {
		return (w.opt.Bytes <= 0 || d.Bytes <= w.opt.Bytes) && (w.opt.Tokens <= 0 || d.Tokens <= w.opt.Tokens)
	}
	barest := w.render(must, 2)
	if !inBudget(barest) {
		return Digest{}, &BudgetError{barest.Bytes, barest.Tokens, len(barest.Statements)}
	}
	// Of few samples a thousandth says nothing: those get some lines anyway.
	asked := int((1 - w.opt.Reduction) * float64(w.rawBytes))
	goal := max(asked, barest.Bytes)
	if w.rawBytes < fewBytes {
		goal = max(goal, fewText)
	}
	fits := func(d Digest) bool { return d.Bytes <= goal && inBudget(d) }
	out, form := barest, 2
	for f := range 2 {
		if d := w.render(must, f); fits(d) {
			out, form = d, f
			break
		}
	}
	kept := must
	for _, e := range may[:min(len(may), mostTried)] {
		with := append(kept[:len(kept):len(kept)], e)
		if d := w.render(with, form); fits(d) {
			kept, out = with, d
		}
	}
	out.Asked = asked
	switch {
	case out.Bytes <= asked:
	case out.Bytes <= barest.Bytes:
		out.Relaxed = "what must be kept is longer"
	default:
		out.Relaxed = fmt.Sprintf("%d are given to rows of less than %d", fewText, fewBytes)
	}
	return out, nil
}

// fewBytes of samples get a text of fewText, whatever Reduction says.
const (
	fewBytes = 1 << 20
	fewText  = 2500
)

// render writes entries in their order of kernel and section.
func (w *writer) render(es []entry, form int) Digest {
	d := Digest{RawBytes: w.rawBytes, RawRows: w.rawRows}
	var b strings.Builder
	lines := 0
	es = slices.Clone(es)
	slices.SortStableFunc(es, func(a, b entry) int { return cmp.Or(a.kernel-b.kernel, a.section-b.section) })
	for _, e := range es {
		if e.plain {
			b.WriteString(e.forms[form] + "\n")
			continue
		}
		if e.line {
			lines++
		}
		s := Statement{ID: fmt.Sprintf("%s%d", w.opt.ID, len(d.Statements)+1), Text: e.forms[form], Evidence: e.evidence[form]}
		d.Statements = append(d.Statements, s)
		b.WriteString(s.ID + " " + s.Text + "\n")
	}
	unread := int64(0)
	for _, k := range w.ks {
		d.LinesLeft += len(k.Lines) + k.Rest.Count
		if !k.loaded {
			d.Unread++
			unread += k.Stalled()
		}
	}
	d.LinesLeft -= lines
	var left []string
	if d.LinesLeft > 0 {
		left = append(left, plural(int64(d.LinesLeft), "more line")+" with samples")
	}
	if d.Unread > 0 {
		left = append(left, fmt.Sprintf("the lines of %s with %s of all stalls", plural(int64(d.Unread), "more kernel"), percent(part(unread, w.all))))
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "(not here: %s)\n", strings.Join(left, ", "))
	}
	d.Text = b.String()
	d.Bytes, d.Tokens = len(d.Text), w.opt.Count(d.Text)
	return d
}

// fileNames shortens paths as far as they stay different.
func fileNames(ks []*Kernel) map[string]string {
	full := map[string]bool{}
	for _, k := range ks {
		for _, l := range k.Lines {
			full[l.File] = true
		}
	}
	count := map[string]int{}
	for f := range full {
		count[base(f)]++
	}
	short := map[string]string{}
	for f := range full {
		if short[f] = base(f); count[base(f)] > 1 {
			short[f] = f
		}
	}
	return short
}

func base(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }

// clean makes text of a profile fit for one line: no control characters, no
// runs of spaces, at most so many characters.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return text
}
