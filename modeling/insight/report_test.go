package insight_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

func open(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// made is a run of a store: kernels with durations of their launches and
// counters of each launch.
type made struct {
	tool, kind string
	kernels    map[string][]int64 // ns
	counters   map[string]float64 // of each launch
}

var imports int

// put adds a run and returns its id.
func put(t *testing.T, s *datasets.Store, m made) int64 {
	t.Helper()
	im, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	records := []datasets.Record{&datasets.Run{ID: 1, Tool: m.tool, Format: m.tool, Status: datasets.RunOK}}
	launch := int64(0)
	names := sortedKeys(m.kernels)
	for g, name := range names {
		records = append(records, &datasets.Region{ID: int64(g + 1), Run: 1, Kind: m.kind, Raw: name, Short: name})
		for i, d := range m.kernels[name] {
			launch++
			records = append(records, &datasets.Launch{ID: launch, Run: 1, Region: int64(g + 1), Sequence: datasets.Some(int64(i)), DurNs: datasets.Some(d)})
			for _, c := range sortedKeys(m.counters) {
				records = append(records, &datasets.Counter{Run: 1, Region: int64(g + 1), Launch: launch, Metric: c, Value: datasets.Some(m.counters[c]), Status: datasets.StatusOK})
			}
		}
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	imports++
	if err := im.Commit(datasets.Artefact{Path: fmt.Sprintf("profile %d", imports), SHA256: fmt.Sprintf("%064x", imports), Bytes: 1, Kind: m.tool, ParserVersion: 1}); err != nil {
		t.Fatal(err)
	}
	return im.Runs()[0]
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	for i := range out { // few
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}

// A prompt holds at most so many tokens, the most important items first and
// whole, and says what it leaves out.
func TestPromptsKeepTheirBudget(t *testing.T) {
	s, runs := samples(t)
	count := func(text string) int { return len(strings.Fields(text)) }
	for n, id := range runs {
		if n%6 != 0 {
			continue
		}
		r := of(t, s, insight.Options{Run: id})
		for _, c := range []func(string) int{nil, count} {
			most := 0
			for tokens := 20; tokens < 8000; tokens += tokens / 3 {
				text, err := r.Prompt(insight.PromptOptions{Tokens: tokens, Count: c})
				if budget := (*insight.BudgetError)(nil); errors.As(err, &budget) {
					if budget.Needs <= tokens {
						t.Errorf("run %d: %v", id, err)
					}
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				size := (len(text) + 2) / 3
				if c != nil {
					size = c(text)
				}
				if size > tokens {
					t.Errorf("run %d: %d tokens, not %d", id, size, tokens)
				}
				shown := regexp.MustCompile(`(?m)^\[([A-Z]\d+)\] (.*)$`).FindAllStringSubmatch(text, -1)
				most = len(shown)
				for i, m := range shown {
					if item := r.Items[i]; m[1] != item.ID || !strings.HasPrefix(m[2], strings.Join(strings.Fields(item.Statement), " ")) {
						t.Errorf("run %d, %d tokens: item %d is %q, want %s %q", id, tokens, i, m[0], item.ID, item.Statement)
					}
				}
				if left := len(r.Items) - len(shown); (left > 0) != strings.Contains(text, "left out for room") {
					t.Errorf("run %d, %d tokens: %d items are left out, and the text ends with %q", id, tokens, left, text[max(0, len(text)-200):])
				}
			}
			if most != len(r.Items) {
				t.Errorf("run %d: %d of %d items in the largest budget", id, most, len(r.Items))
			}
		}
	}
}

// hostile is a name that means something to HTML, Markdown, SQL and terminals.
const hostile = "<script>alert('x')</script>|*_`[k](javascript:1)\n\x1b[31m\"&amp;"

func TestHostileNamesAreHarmless(t *testing.T) {
	s := open(t)
	put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{hostile: {1000, 2000, 3000, 1500}, "other": {10}},
		map[string]float64{"smsp__thread_inst_executed_per_inst_executed.ratio": 12, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 70}})
	r := of(t, s, insight.Options{Kernel: hostile})
	if err := r.Verify(context.Background(), s); err != nil {
		t.Error(err)
	}
	if len(r.Items) < 3 || r.Kernels[0].Name != hostile {
		t.Fatalf("%s", r)
	}
	page := r.Page()
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "\x1b") {
		t.Error("the name is not escaped in HTML")
	}
	wellFormed(t, page)
	md := r.Markdown()
	if strings.Contains(md, "<script>") || regexp.MustCompile(`[^\\]\]\(`).MatchString(md) || strings.Contains(md, "\x1b") {
		t.Errorf("the name is not escaped in Markdown: %s", md)
	}
	prompt, err := r.Prompt(insight.PromptOptions{})
	if err != nil || strings.Contains(prompt, "\x1b") || strings.Contains(r.String(), "\x1b") {
		t.Errorf("control characters in text: %v", err)
	}
}

func TestPagesAreWellFormed(t *testing.T) {
	s, runs := samples(t)
	for n, id := range runs {
		if n%5 == 1 {
			wellFormed(t, of(t, s, insight.Options{Run: id}).Page())
		}
	}
}

// wellFormed checks that every element that is opened is closed, in order.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	void := map[string]bool{"meta": true, "br": true, "input": true, "img": true, "hr": true, "link": true}
	var open []string
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("never closed: %v", open)
			}
			return
		case html.StartTagToken:
			name, _ := z.TagName()
			if !void[string(name)] {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func TestAnUnknownKernelIsAnErrorThatNamesCloseOnes(t *testing.T) {
	s := open(t)
	put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"stencil2d": {5}, "gemm_tiled": {6}, "reduce": {7}}, nil})
	for name, want := range map[string]string{"stencl2d": `did you mean "stencil2d"?`, "gemm": `did you mean "gemm_tiled"?`, "zzzzzzzzzzzz": "lists its 3"} {
		_, err := insight.Of(context.Background(), s, insight.Options{Kernel: name})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := insight.Of(context.Background(), s, insight.Options{Run: 77}); err == nil || !strings.Contains(err.Error(), "no run 77") {
		t.Errorf("%v", err)
	}
	if _, err := insight.Of(context.Background(), open(t), insight.Options{}); err == nil || !strings.Contains(err.Error(), "import a profile first") {
		t.Errorf("an empty store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := insight.Of(context.Background(), s, insight.Options{}); err == nil {
		t.Error("a store that is closed gave a report")
	}
}

// Of several runs it is the latest, or the latest with the kernel, or the one
// that is asked for, and the report says so.
func TestOfSeveralRunsTheReportSaysWhich(t *testing.T) {
	s := open(t)
	first := put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"a": {5}, "old": {1}}, nil})
	second := put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"a": {50}}, nil})
	for _, tt := range []struct {
		opt  insight.Options
		run  int64
		note bool
	}{
		{insight.Options{}, second, true},
		{insight.Options{Kernel: "a"}, second, true},
		{insight.Options{Kernel: "old"}, first, true},
		{insight.Options{Run: first}, first, false},
	} {
		r := of(t, s, tt.opt)
		if said := strings.Contains(strings.Join(r.Notes, " "), "The store has 2 runs; this is the latest"); r.Run != tt.run || said != tt.note {
			t.Errorf("%+v: run %d, notes %q; want run %d", tt.opt, r.Run, r.Notes, tt.run)
		}
	}
}

// a: 100 to 110 before, 200 to 210 after: about twice as long; b stays.
func TestAgainstARunBefore(t *testing.T) {
	s := open(t)
	steps := func(from int64) (out []int64) {
		for i := range int64(12) {
			out = append(out, from+(i*7)%11)
		}
		return out
	}
	before := put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"a": steps(1000), "b": steps(500)}, nil})
	after := put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"a": steps(2000), "b": steps(500)}, nil})
	r := of(t, s, insight.Options{Run: after, Against: before})
	if err := r.Verify(context.Background(), s); err != nil {
		t.Error(err)
	}
	// Medians of from + {0..10, 0}: the sixth and seventh of twelve are 4 and 5... of
	// 0 0 1 2 3 4 | 5 6 7 8 9 10: 4.5.
	if i := rule(t, r, insight.Change, "slower"); i.Kernel != "a" || !near(i.Value, 2004.5/1004.5, 1e-12) || i.Verdict != insight.Problem {
		t.Errorf("%+v", i)
	}
	if i := rule(t, r, insight.Change, "no-change"); i.Kernel != "b" || i.Value != 1 || i.Verdict != insight.Fine {
		t.Errorf("%+v", i)
	}
	if len(r.Runs) != 2 || r.Runs[1].Role != "before" || r.Runs[1].ID != before {
		t.Errorf("runs %+v", r.Runs)
	}
	if _, err := insight.Of(context.Background(), s, insight.Options{Run: after, Against: after}); err == nil || !strings.Contains(err.Error(), "itself") {
		t.Errorf("%v", err)
	}
}

// Half an instruction per cycle, 5 % of the branches mispredicted, half of the
// references to the last cache missed; perf's modifiers are no other events.
func TestRulesOfProcessors(t *testing.T) {
	for _, suffix := range []string{"", ":u"} {
		s := open(t)
		counters := map[string]float64{}
		for name, v := range map[string]float64{"instructions": 1e9, "cycles": 2e9, "branches": 1e8, "branch-misses": 5e6, "cache-references": 1e7, "cache-misses": 5e6} {
			counters[name+suffix] = v
		}
		put(t, s, made{"perf", datasets.KindRange, map[string][]int64{"./solve": {1e9}}, counters})
		r := of(t, s, insight.Options{})
		if err := r.Verify(context.Background(), s); err != nil {
			t.Error(err)
		}
		for name, want := range map[string]float64{"ipc": 0.5, "branch-misses": 0.05, "cache-misses": 0.5} {
			if i := rule(t, r, insight.Counter, name); i.Value != want || i.Verdict != insight.Problem || len(i.Remedies) == 0 || len(i.Moves) == 0 {
				t.Errorf("%s%s: %+v, want %g", name, suffix, i, want)
			}
		}
	}
}

// Sums of counters over launches are divided, rates are means weighted with
// time: 4 launches of 1, 1, 1 and 5 µs.
func TestRulesOverLaunches(t *testing.T) {
	s := open(t)
	put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"k": {1000, 1000, 1000, 5000}}, map[string]float64{"lts__t_sector_hit_rate.pct": 40,
		"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 3200, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 100}})
	r := of(t, s, insight.Options{})
	if i := rule(t, r, insight.Counter, "global-load-sectors"); i.Value != 32 || i.Verdict != insight.Problem || i.Gain != 0.5 || i.Sources[0].Count != 8 {
		t.Errorf("%+v: 32 sectors, twice the 16 of the widest elements, by 8 rows", i)
	}
	if i := rule(t, r, insight.Counter, "l2-hit-rate"); !near(i.Value, 40, 1e-12) {
		t.Errorf("%+v", i)
	}
}

func TestReportsShowThemselves(t *testing.T) {
	s := open(t)
	put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"k": {1000, 1000, 1000}}, nil})
	b := of(t, s, insight.Options{}).Display()
	for _, mime := range []string{"text/plain", "text/html", "text/markdown"} {
		if text, _ := b.Data[mime].(string); !strings.Contains(text, "3 µs") {
			t.Errorf("%s lacks the time: %s", mime, text)
		}
	}
}

func TestAReportEndsWithItsContext(t *testing.T) {
	s := open(t)
	put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"k": {1000}}, nil})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := insight.Of(ctx, s, insight.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Of a kernel with very many launches some are read for the sentence; the
// value is that of all of them.
func TestManyLaunchesAreSampledAndSaySo(t *testing.T) {
	s := open(t)
	durations := make([]int64, 2500)
	for i := range durations {
		durations[i] = 1000
	}
	counters := map[string]float64{"gpu__time_duration.sum": 1e-6, "dram__bytes.sum": 500}
	for i := range 50 {
		counters[fmt.Sprintf("unrelated%d", i)] = float64(i)
	}
	put(t, s, made{"ncu", datasets.KindKernel, map[string][]int64{"k": durations}, counters})
	r := of(t, s, insight.Options{})
	if i := rule(t, r, insight.Roofline, "dram-rate"); !near(i.Value, 500e6, 1e-12) || !strings.Contains(i.Estimate, "2000 of 2500 launches") || i.Sources[0].Count != 5000 {
		t.Errorf("%+v", i)
	}
	if err := r.Verify(context.Background(), s); err != nil {
		t.Error(err)
	}
}

// On an A100 (64 warps, 32 blocks, 65,536 registers and 164 KiB of shared memory
// for an SM) blocks of 256 threads with 64 registers are 8 warps of 2,048
// registers: 4 fit, 32 of 64 warps. With 60 KiB of shared memory 2 fit, 16 warps.
func TestOccupancyFromTheDeviceTable(t *testing.T) {
	for smem, want := range map[int64]struct {
		value float64
		says  string
	}{0: {50, "registers sets it"}, 60 << 10: {25, "shared memory sets it"}} {
		s := open(t)
		im, err := s.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		n := func(v int64) datasets.Null[int64] { return datasets.Some(v) }
		for _, r := range []datasets.Record{
			&datasets.Machine{ID: 1, GPU: "NVIDIA A100-SXM4-40GB", Arch: "cc8.0", Units: n(108)},
			&datasets.Run{ID: 1, Machine: 1, Tool: "nsys", Format: "nsys-sqlite", Status: datasets.RunOK},
			&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "k", Short: "k"},
			&datasets.Launch{ID: 1, Run: 1, Region: 1, Grid: [3]datasets.Null[int64]{n(1000), n(1), n(1)}, Block: [3]datasets.Null[int64]{n(32), n(8), n(1)}, Regs: n(64), Smem: n(smem), DurNs: n(50000)},
		} {
			if err := im.Put(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.Commit(datasets.Artefact{Path: "p", SHA256: strings.Repeat("0", 64), Bytes: 1, Kind: "nsys", ParserVersion: 1}); err != nil {
			t.Fatal(err)
		}
		r := of(t, s, insight.Options{})
		if i := rule(t, r, insight.LaunchUse, "theoretical-occupancy"); !near(i.Value, want.value, 1e-12) || !strings.Contains(i.Statement, want.says) || i.Estimate == "" {
			t.Errorf("%d bytes of shared memory: %+v, want %g", smem, i, want.value)
		}
		if err := r.Verify(context.Background(), s); err != nil {
			t.Error(err)
		}
	}
}
