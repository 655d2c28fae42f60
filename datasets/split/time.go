package split

import (
	"regexp"
	"strings"
)

// leakRules say which columns are derived from time: they hold the answer when
// time is the target. The first that matches gives the reason.
var leakRules = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`per_second|per_sec\b|/s$|/second$|_per_s$|bandwidth|flops$|flop/s|flops?_s$|perf$|throughput|[kmgt]bps|^rate($|\[)|(^|[^a-z])ops/s`), "a rate: something divided by time"},
	{regexp.MustCompile(`pct_of_peak`), "a percentage of a peak rate, so divided by time"},
	{regexp.MustCompile(`per[_ ]?cycle|\bipc\b|_ipc|\bcpi\b|executed ipc|issued ipc`), "divided by cycles, which count time"},
	{regexp.MustCompile(`cycles|\bcycle\b|clock_rate|frequency|(^|[^a-z])freq($|[^a-z])|[mg]hz($|\[)|ticks`), "counts cycles, which are time at some clock"},
	{regexp.MustCompile(`duration|elapsed|(^|[^a-z])x?time($|[^a-z])|time_(ns|us|ms|s)\b|_time$|runtime|wall|latency|dur_ns|start_ns|end_ns|timestamp|` +
		// as profilers of processors name theirs: "CPUTIME (usec):Sum (I)", "task-clock", "cpu(ms)", "mean_ms", "sec/op", "dur"
		`(cpu|real|user|sys|system|exec)_?time|(cpu|task)[-_]clock|(^|[^a-z:])(ns|us|ms|usecs?|msecs?|secs?|seconds?)($|[^a-z])|(^|[^a-z])t?dur($|[^a-z])|` +
		`^times$|^cpu$|_to_(submit|start|end)$|cpus? utilized`), "a time"},
	{regexp.MustCompile(`[a-z](Ns|Us|Ms|Seconds)$`), "a time"}, // AverageNs
	{regexp.MustCompile(`energy|joule|power|watt`), "energy or power, which are measured over the run's time"},
	{regexp.MustCompile(`warps_issue_stalled|warp_issue_stalled|average_warp`), "counts waiting, which is time"},
}

// TimeDerived says whether a counter or column is derived from time, by its name,
// and why. Such columns are leakage when time is the target: from a rate and
// an amount anybody can compute the time.
func TimeDerived(name string) (reason string, derived bool) {
	lower := strings.ToLower(name)
	for _, r := range leakRules {
		if r.pattern.MatchString(lower) || r.pattern.MatchString(name) {
			return r.reason, true
		}
	}
	return "", false
}
