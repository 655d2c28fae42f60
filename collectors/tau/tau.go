// Package tau reads the profiles that TAU writes, one file per thread and
// metric: profile.NODE.CONTEXT.THREAD, in a folder MULTI__METRIC where there
// are several metrics.
//
// In flows a file, out flows one run with a launch per timer, whose rank and
// thread are those of the file's name. Calls, subroutines, and the exclusive
// and inclusive values are counters, "TIME inclusive" and so on.
//
// A file has one line per timer and, with call paths on, one more per path
// ("a => b => c"). Paths are the regions' forest; a timer that begins no path
// has its values over all callers as a root of its own, under names with
// "flat" before them, so that nothing is counted twice. For the same reason
// the exclusive time of samples, which the timer around them has as well, is
// "sampled TIME exclusive"; their calls are samples. User events are
// counters of the root, or of the path that is part of their name
// ("event : a => b"), with the statistic as instance.
//
// The layout:
//
//	COUNT templated_functions_MULTI_METRIC           some writers leave MULTI_ out
//	# Name Calls Subrs Excl Incl ProfileCalls # <metadata>...</metadata>
//	"NAME" CALLS SUBRS EXCL INCL PROFILECALLS GROUP="GROUPS"      COUNT lines
//	COUNT aggregates                                              and their lines
//	COUNT userevents
//	# eventname numevents max min mean sumsqr
//	"NAME" N MAX MIN MEAN SUMSQR                                  COUNT lines
package tau

import (
	"regexp"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "tau",
		About:   "TAU profile.N.C.T",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if first.Match(h.Bytes) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: parse,
	})
}

var first = regexp.MustCompile(`^[ \t]*(\d{1,9}) templated_functions(?:_(?:MULTI_)?([^\r\n]*))?(?:\r?\n|$)`)
