package insight

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/observe"
)

// hotKernels says where the time goes.
func hotKernels(ctx context.Context, sc *scope) (found, error) {
	h := sc.hot
	if h.Total == 0 {
		if n, err := number(ctx, sc.store, fmt.Sprintf("SELECT (SELECT count(*) FROM telemetry WHERE run_id = %d) + (SELECT count(*) FROM ceiling WHERE run_id = %d)", sc.run.ID, sc.run.ID)); err != nil || n > 0 && len(sc.kernels) == 0 {
			return found{}, err // a recording of sensors, or of a machine's limits
		}
		what := fmt.Sprintf("run %d has no time of any region", sc.run.ID)
		if len(sc.kernels) == 0 {
			what = fmt.Sprintf("run %d has no kernels and no regions", sc.run.ID)
		}
		return found{}, &missingError{what: what, command: sc.collectTime()}
	}
	what := "time"
	if sc.cost != "" || h.Unit != "s" && sc.time != "" {
		what = cmp.Or(sc.cost, sc.time)
	}
	noun := "region"
	if strings.Contains(sc.class, "= 'kernel'") {
		noun = "kernel"
	}
	var f found
	if sc.cost != "" && sc.cost != sc.time {
		f.notes = append(f.notes, fmt.Sprintf("The profile has no times; shares are parts of %s instead.", sc.cost))
	}
	var evidence []observe.Row
	for _, k := range append(h.Kernels[:len(h.Kernels):len(h.Kernels)], h.Rest...) {
		evidence = append(evidence, k.Evidence[:min(len(k.Evidence), 1)]...)
	}
	all := len(h.Kernels) + len(h.Rest)
	verb := "cover"
	if len(h.Kernels) == 1 {
		verb = "covers"
	}
	statement := fmt.Sprintf("%s of %s %s %s of the %s (%s in all)", plural(len(h.Kernels), "hot "+noun), plural(all, noun), verb, percent(h.Covered), what, quantity(h.Total, h.Unit))
	if all == 1 {
		k := sc.fromHot(h.Kernels[0])
		statement = fmt.Sprintf("All of the %s (%s%s) is in one %s, %s", what, quantity(h.Total, h.Unit), perLaunch(k), noun, k.short())
	}
	f.items = append(f.items, Item{Kind: Hot, Rule: "total", Verdict: Fact, Statement: statement + ".",
		Metric: what, Value: h.Total, Unit: h.Unit, Share: 1, Importance: 1,
		Sources: sc.evidence(ctx, evidence), Query: sc.times(nil) + "\nSELECT sum(v) FROM o",
		Meaning: "Work on what takes the time: the gain from a kernel is at most its share (Amdahl's law)."})
	for i, k := range sc.kernels {
		if k.Time == nil {
			f.missing = append(f.missing, Missing{What: "no time of " + k.short(), Command: sc.collectTime()})
			continue
		}
		statement := fmt.Sprintf("%s takes %s of the %s: %s", k.short(), percent(*k.Share), what, quantity(*k.Time, k.Unit))
		statement += perLaunch(k)
		if all == 1 {
			continue // the total says it
		}
		f.items = append(f.items, Item{Kind: Hot, Rule: "kernel", Verdict: Fact, Kernel: k.Name, Statement: statement + ".",
			Metric: what, Value: *k.Time, Unit: k.Unit, Share: *k.Share, Importance: 0.5 + 0.49**k.Share - 0.001*float64(i),
			Reference: &Reference{Value: h.Total, What: what + " of all"},
			Sources:   sc.evidence(ctx, evidenceOf(h, k)), Query: sc.times(k) + "\nSELECT sum(v) FROM o",
			Moves: []Move{{sc.timeMetric(), Down}}})
	}
	return f, nil
}

// perLaunch says how many launches there are and what each takes.
func perLaunch(k *Kernel) string {
	if k.Launches <= 1 || k.Time == nil {
		return ""
	}
	return fmt.Sprintf(" in %s, %s each on average", plural(k.Launches, launchNoun(k)), quantity(*k.Time/float64(k.Launches), k.Unit))
}

func launchNoun(k *Kernel) string {
	if k.Kind == "kernel" {
		return "launch"
	}
	return "measurement"
}

func evidenceOf(h hot.Result, k *Kernel) []observe.Row {
	for _, ks := range [][]hot.Kernel{h.Kernels, h.Rest} {
		for _, o := range ks {
			if o.Name == k.Name && o.Kind == k.Kind {
				return o.Evidence
			}
		}
	}
	return nil
}

// collectTime is a command that measures times, for the kind of run.
func (sc *scope) collectTime() string {
	switch {
	case sc.run.Status == datasets.RunEmpty:
		return ""
	case sc.is("go test", "benchseries"):
		return "go test -bench . -count 10 > FILE"
	case sc.is("rocprof"):
		return "rocprofv3 --kernel-trace -- CMD"
	case sc.is("ncu", "nvidia", "nvml", "gpu-roofline", "roofline-peaks"):
		return "nsys profile -t cuda -o FILE CMD; nsys export -t sqlite FILE.nsys-rep"
	case sc.is("llvm-mca"):
		return "rooflab collect perf --store STORE -- CMD"
	}
	return "rooflab collect run --repeats 10 --store STORE -- CMD"
}
