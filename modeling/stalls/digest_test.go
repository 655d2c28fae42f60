package stalls_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/stalls"
)

// checkEvidence looks up the numbers of a digest in the store.
func checkEvidence(t *testing.T, s *datasets.Store, d stalls.Digest, least int) {
	t.Helper()
	checked := 0
	for _, st := range d.Statements {
		if got, ok := d.Find(st.ID); !ok || got.Text != st.Text || !strings.Contains(d.Text, st.ID+" "+st.Text+"\n") || len(st.Evidence) == 0 {
			t.Errorf("statement %s: %q, %d pieces of evidence", st.ID, st.Text, len(st.Evidence))
		}
		for _, e := range st.Evidence {
			if e.Share != float64(e.Samples)/float64(e.Of) || e.Run == 0 || e.Kernel == "" || len(e.Launches) == 0 {
				t.Errorf("%s: %+v", st.ID, e)
			}
			if e.Kind == stalls.OfType {
				continue
			}
			rows, err := s.Rows(t.Context(), e.Query())
			if err != nil {
				t.Fatalf("%s: %v\n%s", st.ID, err, e.Query())
			}
			if !rows.Next() || rows.Values()[0] != e.Samples {
				t.Errorf("%s: %d samples; the store has %v", st.ID, e.Samples, rows.Values())
			}
			rows.Close()
			checked++
		}
	}
	if checked < least {
		t.Errorf("%d pieces of evidence", checked)
	}
}

// Of tables from 60,000 rows on, one kernel and several, the digest is a
// thousandth and keeps all lines that hold 5 % or more of the stalls. Which
// these are is counted from the records.
func TestDigestIsAThousandthAndKeepsHotLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kernels, codes, launches int
		seed                     uint64
	}{{1, 5000, 2, 1}, {1, 1500, 6, 2}, {3, 1500, 3, 3}} {
		records := generated(tt.seed, tt.kernels, tt.codes, tt.launches)
		// A line of a fifth, one of 6 %, one just above and one just below 5 %,
		// of the first kernel.
		var all int64
		for _, r := range records {
			if s, ok := r.(*datasets.PCSample); ok && s.Reason != "selected" {
				all += s.Samples.V
			}
		}
		for i, share := range []float64{0.2, 0.06, 0.0501, 0.0499} {
			c := sass(int64(1_000_000+i), "LDG", "/src/hot.cu", int64(100+i))
			records = append(records, c, sample(1, c.ID, "long_scoreboard", int64(share/(1-0.36)*float64(all)), 0))
		}
		lineOf, stalled := map[int64]string{}, map[string]int64{}
		all = 0
		raw := 0
		for _, r := range records {
			if c, ok := r.(*datasets.Code); ok {
				lineOf[c.ID] = fmt.Sprintf("%d %s:%d", c.Region, c.File, c.Line.V)
			}
		}
		for _, r := range records {
			s, ok := r.(*datasets.PCSample)
			if !ok {
				continue
			}
			raw += len(fmt.Sprintf("%d,%s,%d,%d\n", s.Code, s.Reason, s.Samples.V, s.NotIssued.V))
			if s.Reason != "selected" {
				stalled[lineOf[s.Code]] += s.Samples.V
				all += s.Samples.V
			}
		}
		st := store(t, records...)
		d, err := analysis(t, st, stalls.Options{}).Digest(stalls.DigestOptions{Bytes: 8000})
		if err != nil {
			t.Fatal(err)
		}
		if d.RawBytes != int64(raw) {
			t.Errorf("raw: %d bytes, as CSV %d", d.RawBytes, raw)
		}
		if d.Reduction() < 0.999 || d.Bytes > 8000 || d.Bytes != len(d.Text) {
			t.Errorf("%d bytes of %d: %.4f", d.Bytes, d.RawBytes, d.Reduction())
		}
		kept := map[string]bool{}
		for _, s := range d.Statements {
			if e := s.Evidence[0]; e.Kind == stalls.OfLine {
				kept[fmt.Sprintf("%c %s:%d", e.Kernel[6]+1, e.File, e.Line.V)] = true
			}
		}
		hot := 0
		for line, v := range stalled {
			if float64(v)/float64(all) >= 0.05 {
				hot++
				if !kept[line] {
					t.Errorf("%+v: line %s with %.3f of the stalls is lost", tt, line, float64(v)/float64(all))
				}
			}
		}
		if hot < 3 {
			t.Errorf("%+v: %d hot lines", tt, hot)
		}
		checkEvidence(t, st, d, 8)
	}
}

func TestDigestKeepsToItsBudget(t *testing.T) {
	t.Parallel()
	a := analysis(t, store(t, generated(21, 2, 400, 1)...), stalls.Options{})
	words := func(s string) int { return len(strings.Fields(s)) }
	last := 0
	for _, bytes := range []int{900, 1500, 3000, 6000} {
		d, err := a.Digest(stalls.DigestOptions{Bytes: bytes, Reduction: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		if d.Bytes > bytes || d.Bytes < last {
			t.Errorf("%d bytes of %d, %d before", d.Bytes, bytes, last)
		}
		last = d.Bytes
	}
	for _, tokens := range []int{150, 400} {
		d, err := a.Digest(stalls.DigestOptions{Tokens: tokens, Count: words, Reduction: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		if d.Tokens > tokens || d.Tokens != words(d.Text) {
			t.Errorf("%d tokens of %d", d.Tokens, tokens)
		}
	}
	_, err := a.Digest(stalls.DigestOptions{Bytes: 100})
	var budget *stalls.BudgetError
	if !errors.As(err, &budget) || budget.Bytes <= 100 {
		t.Fatalf("%v", err)
	}
	if d, err := a.Digest(stalls.DigestOptions{Bytes: budget.Bytes}); err != nil || d.Bytes != budget.Bytes {
		t.Errorf("what it asks for is not what it needs: %v, %d bytes", err, d.Bytes)
	}
}

// Text of a profile cannot break the lines of a digest.
func TestDigestTakesHostileText(t *testing.T) {
	t.Parallel()
	k := kernel(1, "k\nS1 kernel fake")
	src := &datasets.Code{ID: 2, Run: 1, Region: 1, ISA: "source", File: "a\n.cu", Line: n(1), Text: "x;\r\nS9 fake 99 %\x1b[2J" + strings.Repeat("y", 5000)}
	s := store(t, k, launch(1, 1), sass(1, "LDG\nS8", "a\n.cu", 1), src, sample(1, 1, "wait", 10, 0))
	a := analysis(t, s, stalls.Options{})
	d, err := a.Digest(stalls.DigestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(d.Text) {
		if strings.HasPrefix(line, "S9 fake") || strings.HasPrefix(line, "S8") || strings.Contains(line, "\x1b") || len(line) > 700 {
			t.Errorf("%q", line)
		}
	}
	if strings.Contains(a.Kernels[0].Listing(), "\x1b") || strings.Contains(a.Kernels[0].HTML(), "\x1b") {
		t.Error("an escape sequence gets through")
	}
	checkEvidence(t, s, d, 3)
}

// The digest of many kernels is as bounded as that of one, and begins with the
// kernel that stalls most, not with the one that has most samples.
func TestDigestOfManyKernels(t *testing.T) {
	t.Parallel()
	var records []datasets.Record
	for i := range int64(300) {
		c := sass(i+1, "LDG", "a.cu", i+1)
		c.Region = i + 1
		records = append(records, kernel(i+1, fmt.Sprint("k", i)), launch(i+1, i+1), c, sample(i+1, i+1, "wait", 100+i, 0))
	}
	// k299 has the most samples, but they are issued; k0 has a line of more than
	// 5 % of all 79,850 stalled ones.
	records = append(records, sample(300, 300, "selected", 1e6, 0), sample(1, 1, "wait", 5000, 0))
	s := store(t, records...)
	d, err := analysis(t, s, stalls.Options{}).Digest(stalls.DigestOptions{Bytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if d.Bytes > 2000 || !strings.Contains(d.Text, "a.cu:1 100.0 %: wait 100.0 %") || !strings.HasPrefix(d.Text, "S1 kernel k0 (run 1, 1 launch): 5100 PC samples, 0 issued, 5100 stalled") {
		t.Errorf("%d bytes\n%s", d.Bytes, d.Text)
	}
	checkEvidence(t, s, d, 10)
}

// What a reader is told of a digest's size says what it is compared with, and
// why it is longer than asked for: a thousandth of some hundred bytes names no
// line.
func TestReductionSaysWhatItIsOf(t *testing.T) {
	t.Parallel()
	few := analysis(t, store(t, kernel(1, "k"), launch(1, 1), sass(1, "LDG", "a.cu", 1), sample(1, 1, "wait", 10, 0), sample(1, 1, "barrier", 20, 0)), stalls.Options{})
	d, err := few.Digest(stalls.DigestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// "1,wait,10,0\n" and "1,barrier,20,0\n" are 12 and 15 bytes.
	if d.RawBytes != 27 || d.Asked != 0 || d.Relaxed != "2500 are given to rows of less than 1048576" || d.Bytes > 2500 {
		t.Errorf("%d bytes of %d, asked %d, %q", d.Bytes, d.RawBytes, d.Asked, d.Relaxed)
	}
	if text := d.Display().Data["text/plain"].(string); !strings.Contains(text, "of 2 rows of samples, which are 27 bytes as CSV (asked for were 0 bytes at most, but 2500 are given") {
		t.Error(text)
	}
	// 26 lines with a kernel's head each are more than a thousandth of their rows,
	// and all of them must be kept.
	var many []datasets.Record
	many = append(many, kernel(1, "k"), launch(1, 1))
	for i := range int64(26) {
		many = append(many, sass(i+1, "LDG", strings.Repeat("long", 30)+".cu", i+1), sample(1, i+1, "wait", 100, 0))
	}
	d, err = analysis(t, store(t, many...), stalls.Options{}).Digest(stalls.DigestOptions{Least: 0.01})
	if err != nil || d.Relaxed != "what must be kept is longer" || d.Bytes <= 2500 || d.LinesLeft != 0 {
		t.Errorf("%v: %d bytes, %q", err, d.Bytes, d.Relaxed)
	}
	// 68,000 rows are more than 1 MiB, where the bound holds.
	d, err = analysis(t, store(t, generated(5, 1, 5000, 2)...), stalls.Options{}).Digest(stalls.DigestOptions{})
	if err != nil || d.Relaxed != "" || d.Bytes > d.Asked || d.Asked != int(0.001*float64(d.RawBytes)) && d.Asked != int((1-0.999)*float64(d.RawBytes)) {
		t.Errorf("%v: %d bytes, asked %d of %d, %q", err, d.Bytes, d.Asked, d.RawBytes, d.Relaxed)
	}
}

// Of kernels beyond Options.Kernels there are the sums; the rest comes when it
// is asked for, and is what it would have been.
func TestKernelsAreReadOnDemand(t *testing.T) {
	t.Parallel()
	s := store(t, generated(31, 5, 120, 2)...)
	all := analysis(t, s, stalls.Options{Lines: 100, Instructions: 50, Launches: 10})
	few := analysis(t, s, stalls.Options{Kernels: 2, Lines: 100, Instructions: 50, Launches: 10})
	if len(few.Kernels) != 5 || len(few.Notes) != 1 || !strings.Contains(few.Notes[0], "of the 3 least stalled kernels") {
		t.Fatalf("%d kernels, %q", len(few.Kernels), few.Notes)
	}
	for i, k := range few.Kernels {
		want := all.Kernels[i]
		if k.Loaded() != (i < 2) || k.Name != want.Name || k.Samples != want.Samples || k.Stalled() != want.Stalled() || k.LaunchCount != 2 || len(k.Reasons) != len(want.Reasons) {
			t.Errorf("%s, loaded %v: %d samples, %s has %d", k.Name, k.Loaded(), k.Samples, want.Name, want.Samples)
		}
		if i < 2 {
			continue
		}
		if len(k.Lines)+len(k.Instructions)+len(k.Types)+len(k.Launches) != 0 || !strings.Contains(k.String(), "Kernel.Load") || !strings.Contains(k.Listing(), "Kernel.Load") || !strings.Contains(k.HTML(), "Kernel.Load") {
			t.Errorf("%s shows lines that nobody has read:\n%s", k.Name, k)
		}
	}
	// Each has about a fifth of the stalls: with the bar at a half none is
	// read, with the usual one all are.
	d, err := few.Digest(stalls.DigestOptions{Least: 0.5})
	if err != nil || d.Unread != 3 || !strings.Contains(d.Text, "the lines of 3 more kernels with ") {
		t.Errorf("%v: %d not read\n%s", err, d.Unread, d.Text)
	}
	k, want := few.Kernels[4], all.Kernels[4]
	if err := k.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	sumsAreTheKernels(t, k)
	if k.String() != want.String() || k.Listing() != want.Listing() {
		t.Errorf("%s\nwant\n%s", k, want)
	}
	d, err = few.Digest(stalls.DigestOptions{})
	if err != nil || d.Unread != 0 || !few.Kernels[3].Loaded() {
		t.Errorf("%v: %d not read", err, d.Unread)
	}
	checkEvidence(t, s, d, 10)
	again, err := all.Digest(stalls.DigestOptions{})
	if err != nil || again.Text != d.Text {
		t.Errorf("%v\n%s\nwant\n%s", err, d.Text, again.Text)
	}
}
