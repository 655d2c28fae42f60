package stalls_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/stalls"
)

func open(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// store is a store of one profile with these records.
func store(t *testing.T, records ...datasets.Record) *datasets.Store {
	t.Helper()
	s := open(t)
	all := append([]datasets.Record{&datasets.Run{ID: 1, Tool: "ncu", Format: "ncu-rep", Status: datasets.RunOK}}, records...)
	if _, err := s.ImportAll(t.Context(), []datasets.Profile{{Records: all, Artefact: datasets.Artefact{Path: "x", SHA256: "1", Kind: "ncu-rep", ParserVersion: 1}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func analysis(t *testing.T, s *datasets.Store, opt stalls.Options) *stalls.Analysis {
	t.Helper()
	a, err := stalls.FromStore(t.Context(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func n(v int64) datasets.Null[int64] { return datasets.Some(v) }

func kernel(id int64, name string) *datasets.Region {
	return &datasets.Region{ID: id, Run: 1, Kind: datasets.KindKernel, Raw: "void " + name + "(int)", Short: name}
}

func launch(id, region int64) *datasets.Launch {
	return &datasets.Launch{ID: id, Run: 1, Region: region, Sequence: n(id - 1)}
}

func sample(launch, code int64, reason string, samples, idle int64) *datasets.PCSample {
	return &datasets.PCSample{Run: 1, Launch: launch, Code: code, Reason: reason, Samples: n(samples), NotIssued: n(idle)}
}

func sass(id int64, opcode, file string, line int64) *datasets.Code {
	c := &datasets.Code{ID: id, Run: 1, Region: 1, ISA: "sass", Offset: n(16 * (id - 1)), Opcode: opcode, File: file}
	if line > 0 {
		c.Line = n(line)
	}
	return c
}

// sumsAreTheKernels checks that every way to take the kernel apart gives all
// of it, and that no sample is in two parts.
func sumsAreTheKernels(t *testing.T, k *stalls.Kernel) {
	t.Helper()
	var lines, code, types, launches, reasons, idle int64
	for _, l := range k.Lines {
		lines += l.Samples
		idle += l.NotIssued.V
	}
	for _, i := range k.Instructions {
		code += i.Samples
	}
	for _, x := range k.Types {
		types += x.Samples
	}
	for _, l := range k.Launches {
		launches += l.Samples
	}
	for _, r := range k.Reasons {
		reasons += r.Samples
	}
	if lines+k.Rest.Samples != k.Samples || code+k.RestOfCode.Samples != k.Samples || types != k.Samples || launches != k.Samples || reasons != k.Stalled() || idle+k.Rest.NotIssued.V != k.NotIssued.V {
		t.Errorf("%s: %d samples; lines %d + %d, instructions %d + %d, types %d, launches %d; %d stalled, reasons %d; not issued %d, %d", k.Name, k.Samples, lines, k.Rest.Samples, code, k.RestOfCode.Samples, types, launches, k.Stalled(), reasons, k.NotIssued.V, idle)
	}
}

// generated is samples of some kernels, from a seed.
func generated(seed uint64, kernels, codes, launches int) []datasets.Record {
	r := rand.New(rand.NewPCG(seed, 1))
	reasons := []string{"selected", "long_scoreboard", "wait", "not_selected", "barrier", "stall_math", "short_scoreboard"}
	ops := []string{"LDG", "STG", "FFMA", "BAR", "IMAD", "MUFU", "BRA"}
	var out []datasets.Record
	id := int64(0)
	for k := range int64(kernels) {
		out = append(out, kernel(k+1, fmt.Sprintf("k%d", k)))
		for l := range int64(launches) {
			out = append(out, launch(k*int64(launches)+l+1, k+1))
		}
		for c := range codes {
			id++
			code := sass(id, ops[r.IntN(len(ops))], "", 0)
			code.Region = k + 1
			if c%11 != 0 {
				code.File, code.Line = fmt.Sprintf("/src/f%d.cu", c%2), n(1+int64(c)/9)
			}
			out = append(out, code)
			weight := int64(1)
			if c%100 == 7 {
				weight = 1500
			}
			for l := range int64(launches) {
				for _, reason := range reasons {
					if s := r.Int64N(60) * weight; s > 0 {
						out = append(out, sample(k*int64(launches)+l+1, id, reason, s, r.Int64N(s+1)))
					}
				}
			}
		}
	}
	return out
}

// shares is all shares of an analysis by what they are of.
func shares(a *stalls.Analysis) map[string]float64 {
	out := map[string]float64{}
	for _, k := range a.Kernels {
		for _, c := range k.Reasons {
			out[k.Name+" "+c.Reason] = k.Share(c.Reason)
		}
		for _, l := range k.Lines {
			out[k.Name+" "+l.Name()] = l.Share
			for _, c := range l.Reasons {
				out[k.Name+" "+l.Name()+" "+c.Reason] = l.Tally.Share(c.Reason)
			}
		}
		for _, i := range k.Instructions {
			out[fmt.Sprint(k.Name, " at ", i.Offset.V)] = i.Share
		}
		for _, x := range k.Types {
			out[k.Name+" "+string(x.Class)] = x.Share
		}
	}
	return out
}

func TestSharesDoNotDependOnOrderScaleOrLaunches(t *testing.T) {
	t.Parallel()
	records := generated(7, 2, 60, 1)
	want := shares(analysis(t, store(t, records...), stalls.Options{}))
	if len(want) < 200 {
		t.Fatalf("%d shares", len(want))
	}
	permuted := append([]datasets.Record{}, records...)
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(permuted), func(i, j int) { permuted[i], permuted[j] = permuted[j], permuted[i] })
	var scaled, split []datasets.Record
	r := rand.New(rand.NewPCG(5, 5))
	for _, rec := range records {
		s, ok := rec.(*datasets.PCSample)
		if !ok {
			scaled, split = append(scaled, rec), append(split, rec)
			continue
		}
		scaled = append(scaled, sample(s.Launch, s.Code, s.Reason, 37*s.Samples.V, 37*s.NotIssued.V))
		// Kernel k has launch k; launch k+2 takes a part of its samples.
		a := r.Int64N(s.Samples.V + 1)
		b := r.Int64N(min(a, s.NotIssued.V) + 1)
		split = append(split, sample(s.Launch, s.Code, s.Reason, a, b), sample(s.Launch+2, s.Code, s.Reason, s.Samples.V-a, s.NotIssued.V-b))
	}
	split = append(split, launch(3, 1), launch(4, 2))
	for name, records := range map[string][]datasets.Record{"permuted": permuted, "scaled": scaled, "split": split} {
		a := analysis(t, store(t, records...), stalls.Options{})
		got := shares(a)
		if len(got) != len(want) {
			t.Errorf("%s: %d shares, want %d", name, len(got), len(want))
		}
		for what, v := range want {
			if g, ok := got[what]; !ok || math.Abs(g-v) > 1e-12 {
				t.Errorf("%s: %s is %g, want %g", name, what, g, v)
			}
		}
		for _, k := range a.Kernels {
			sumsAreTheKernels(t, k)
		}
	}
}

func TestPermutedRowsGiveTheSameDigest(t *testing.T) {
	t.Parallel()
	records := generated(9, 3, 80, 2)
	want, err := analysis(t, store(t, records...), stalls.Options{}).Digest(stalls.DigestOptions{Bytes: 6000})
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(4, 4)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	got, err := analysis(t, store(t, records...), stalls.Options{}).Digest(stalls.DigestOptions{Bytes: 6000})
	if err != nil || got.Text != want.Text {
		t.Errorf("%v\n%s\nwant\n%s", err, got.Text, want.Text)
	}
}

func TestKeptPartAndRestAreAll(t *testing.T) {
	t.Parallel()
	s := store(t, generated(11, 1, 4000, 2)...)
	k := analysis(t, s, stalls.Options{Lines: 100, Instructions: 5, Launches: 10}).Kernels[0]
	sumsAreTheKernels(t, k)
	// 4000 instructions, 9 to a line in two files, each eleventh without one:
	// more than 800 lines.
	if len(k.Lines) != 100 || k.Rest.Count < 700 || len(k.Instructions) != 5 || k.RestOfCode.Count != 3995 {
		t.Errorf("%d lines and %d, %d instructions and %d", len(k.Lines), k.Rest.Count, len(k.Instructions), k.RestOfCode.Count)
	}
	all := analysis(t, s, stalls.Options{Lines: 5000}).Kernels[0]
	for i := range k.Lines {
		if k.Lines[i].Name() != all.Lines[i].Name() {
			t.Errorf("line %d is %s, of all %s", i, k.Lines[i].Name(), all.Lines[i].Name())
		}
	}
}

func TestSamplesThatTheStoreHasTwiceCountOnce(t *testing.T) {
	t.Parallel()
	line := &datasets.Code{ID: 3, Run: 1, Region: 1, ISA: "source", File: "a.cu", Line: n(5), Text: "y = x;"}
	s := store(t, kernel(1, "k"), launch(1, 1), launch(2, 1), sass(1, "LDG", "a.cu", 5), sass(2, "STG", "a.cu", 6), line,
		sample(1, 1, "long_scoreboard", 8, 1), sample(1, 2, "wait", 2, 0), sample(1, 3, "long_scoreboard", 8, 1),
		sample(2, 3, "wait", 4, 0)) // launch 2 has lines alone
	k := analysis(t, s, stalls.Options{}).Kernels[0]
	if k.Samples != 14 || k.Repeated != 8 || k.Lines[0].Samples != 12 || k.Lines[0].Text != "y = x;" {
		t.Errorf("%d samples, %d repeated, %d on line 5 (%q)", k.Samples, k.Repeated, k.Lines[0].Samples, k.Lines[0].Text)
	}
	sumsAreTheKernels(t, k)
	// Reasons of which the not-issued part is a reason of its own.
	k = analysis(t, store(t, kernel(1, "k"), launch(1, 1), sass(1, "LDG", "", 0), sample(1, 1, "stall_wait", 9, 0), sample(1, 1, "stall_wait_not_issued", 4, 0)), stalls.Options{}).Kernels[0]
	if k.Samples != 9 || k.Repeated != 4 || k.Of("wait") != 9 {
		t.Errorf("%d samples, %d repeated", k.Samples, k.Repeated)
	}
}

func TestInlinedCodeBelongsToOneLinePerView(t *testing.T) {
	t.Parallel()
	outer, inner := sass(1, "LDG", "kernel.cu", 20), sass(2, "LDG", "helper.h", 3)
	outer.InlineDepth, inner.InlineDepth = n(0), n(1)
	inner.Offset = outer.Offset
	own := sass(3, "STG", "kernel.cu", 20)
	for _, both := range []bool{false, true} {
		records := []datasets.Record{kernel(1, "k"), launch(1, 1), outer, inner, own, sample(1, 2, "long_scoreboard", 30, 10), sample(1, 3, "wait", 10, 0)}
		repeated := int64(0)
		if both { // a tool that counts it for each function
			records, repeated = append(records, sample(1, 1, "long_scoreboard", 30, 10)), 30
		}
		s := store(t, records...)
		for view, want := range map[stalls.View]string{stalls.Innermost: "helper.h:3 30, kernel.cu:20 10", stalls.Outermost: "kernel.cu:20 40"} {
			k := analysis(t, s, stalls.Options{View: view}).Kernels[0]
			var got []string
			for _, l := range k.Lines {
				got = append(got, fmt.Sprint(l.Name(), " ", l.Samples))
			}
			if g := strings.Join(got, ", "); g != want || k.Samples != 40 || k.Repeated != repeated {
				t.Errorf("%s, both %v: %s, %d samples, %d repeated", view, both, g, k.Samples, k.Repeated)
			}
			sumsAreTheKernels(t, k)
		}
	}
}

// Two launches of one kernel, counted in two ways: for each function that an
// instruction is inlined into, and for the outermost alone. None of the samples
// is lost, and none counts twice.
func TestLaunchesMayCountInlinedCodeInTwoWays(t *testing.T) {
	t.Parallel()
	at := func(id, depth, offset int64, file string, line int64) *datasets.Code {
		c := sass(id, "LDG", file, line)
		c.Offset, c.InlineDepth = n(offset), n(depth)
		return c
	}
	s := store(t, kernel(1, "k"), launch(1, 1), launch(2, 1), launch(3, 1),
		at(1, 0, 0, "kernel.cu", 20), at(2, 1, 0, "mid.h", 8), at(3, 2, 0, "helper.h", 3), // one instruction
		at(4, 0, 16, "kernel.cu", 30), at(5, 1, 16, "helper.h", 3), // another one
		sample(1, 1, "wait", 30, 0), sample(1, 2, "wait", 30, 0), sample(1, 3, "wait", 30, 0), sample(1, 4, "wait", 5, 0), sample(1, 5, "wait", 5, 0), // for each
		sample(2, 1, "wait", 7, 0), sample(2, 4, "wait", 2, 0), // for the outermost
		sample(3, 3, "wait", 100, 0)) // for the innermost
	for _, byLaunch := range []bool{false, true} {
		for view, want := range map[stalls.View]string{stalls.Innermost: "helper.h:3 144", stalls.Outermost: "kernel.cu:20 137, kernel.cu:30 7"} {
			a := analysis(t, s, stalls.Options{View: view, ByLaunch: byLaunch})
			sum := map[string]int64{}
			var samples, repeated int64
			for _, k := range a.Kernels {
				sumsAreTheKernels(t, k)
				samples, repeated = samples+k.Samples, repeated+k.Repeated
				for _, l := range k.Lines {
					sum[l.Name()] += l.Samples
				}
			}
			var got []string
			for name, n := range sum {
				got = append(got, fmt.Sprint(name, " ", n))
			}
			slices.Sort(got)
			if g := strings.Join(got, ", "); g != want || samples != 30+5+7+2+100 || repeated != 30+30+5 {
				t.Errorf("%s, by launch %v: %s, want %s; %d samples, %d repeated", view, byLaunch, g, want, samples, repeated)
			}
			if byLaunch {
				continue
			}
			d, err := a.Digest(stalls.DigestOptions{})
			if err != nil {
				t.Fatal(err)
			}
			checkEvidence(t, s, d, 3)
		}
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	t.Parallel()
	f := &datasets.Region{ID: 2, Run: 1, Parent: 1, Kind: datasets.KindFunction, Raw: "helper(float)", Short: "helper"}
	called := sass(2, "", "", 0)
	called.Region = 2
	noFile := sass(3, "FADD", "", 4)
	s := store(t, kernel(1, "k"), f, launch(1, 1), sass(1, "LDG", "", 0), called, noFile, sample(1, 1, "odd reason", 5, 0), sample(1, 2, "selected", 2, 0),
		sample(1, 2, "wait", 1, 0), sample(1, 3, "wait", 1, 0), &datasets.PCSample{Run: 1, Launch: 1, Code: 1, Reason: "barrier", NotIssued: n(3)})
	a := analysis(t, s, stalls.Options{})
	k := a.Kernels[0]
	if k.Lines[0].Name() != "(no line information)" || k.Lines[0].Known() || k.Lines[0].Samples != 8 || k.Lines[1].Name() != "line 4 (no file information)" {
		t.Errorf("%+v", k.Lines)
	}
	if k.Of("odd reason") != 5 || k.Instructions[1].Function != "helper" || k.Instructions[1].Class != stalls.Unknown || k.Uncounted != 1 || len(a.Notes) != 1 {
		t.Errorf("%+v, %d not counted, %q", k.Instructions, k.Uncounted, a.Notes)
	}
	d, err := a.Digest(stalls.DigestOptions{})
	if err != nil || !strings.Contains(d.Text, "(no line information) 85.7 %: odd reason 83.3 %") {
		t.Errorf("%v\n%s", err, d.Text)
	}
	checkEvidence(t, s, d, 5)
	if _, err := a.Kernel("none"); err == nil || !strings.Contains(err.Error(), "those that have are k") {
		t.Errorf("%v", err)
	}
	empty := analysis(t, store(t, kernel(1, "k")), stalls.Options{})
	if _, err := empty.Digest(stalls.DigestOptions{}); err == nil || !strings.Contains(err.Error(), "SourceCounters") {
		t.Errorf("no samples: %v", err)
	}
	if empty.String() != "no kernel has PC samples" {
		t.Error(empty)
	}
	only := analysis(t, store(t, kernel(1, "k"), launch(1, 1), sass(1, "LDG", "a.cu", 1), sample(1, 1, "selected", 5, 0)), stalls.Options{})
	if k := only.Kernels[0]; k.Stalled() != 0 || k.Lines[0].Share != 0 || len(k.Dominant()) != 0 || k.HTML() == "" {
		t.Errorf("nothing stalled: %v", k)
	}
}

func TestDominantHasAThreshold(t *testing.T) {
	t.Parallel()
	// 30, 50 and 20 of 100 stalled samples; 900 issued ones do not matter.
	s := store(t, kernel(1, "k"), launch(1, 1), sass(1, "LDG", "a.cu", 1), sample(1, 1, "wait", 30, 0), sample(1, 1, "stall_long_sb", 50, 0), sample(1, 1, "barrier", 20, 0), sample(1, 1, "selected", 900, 0))
	for least, want := range map[float64]string{0: "long_scoreboard wait", 0.31: "long_scoreboard", 0.2: "long_scoreboard wait barrier", 0.6: ""} {
		k := analysis(t, s, stalls.Options{Dominant: least}).Kernels[0]
		var got []string
		for _, c := range k.Dominant() {
			got = append(got, c.Reason)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("from %g on: %q, want %q", least, g, want)
		}
	}
}
