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
	{regexp.MustCompile(`per_second|per_sec\b|/s$|/second$|_per_s$|bandwidth|flops$|flop/s|flops?_s$|perf$|throughput`), "a rate: something divided by time"},
	{regexp.MustCompile(`pct_of_peak`), "a percentage of a peak rate, so divided by time"},
	{regexp.MustCompile(`per_cycle|\bipc\b|_ipc|\bcpi\b|executed ipc|issued ipc`), "divided by cycles, which count time"},
	{regexp.MustCompile(`cycles|\bcycle\b|clock_rate|frequency|ticks`), "counts cycles, which are time at some clock"},
	{regexp.MustCompile(`duration|elapsed|(^|[^a-z])x?time($|[^a-z])|time_(ns|us|ms|s)\b|_time$|runtime|wall|latency|dur_ns|start_ns|end_ns|timestamp`), "a time"},
	{regexp.MustCompile(`energy|joule|power|watt`), "energy or power, which are measured over the run's time"},
	{regexp.MustCompile(`warps_issue_stalled|warp_issue_stalled|average_warp`), "counts waiting, which is time"},
}

// TimeDerived says whether a counter or column is derived from time, by its name,
// and why. Such columns are leakage when time is the target: from a rate and
// an amount anybody can compute the time.
func TimeDerived(name string) (reason string, derived bool) {
	lower := strings.ToLower(name)
	for _, r := range leakRules {
		if r.pattern.MatchString(lower) {
			return r.reason, true
		}
	}
	return "", false
}
