package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// clocks are the functions by which a program takes time, among those of
// build.Suspects.
var clocks = []string{"clock_gettime", "clock_getres", "gettimeofday", "time", "times", "clock", "timespec_get", "getrusage", "ftime",
	"omp_get_wtime", "omp_get_wtick", "MPI_Wtime", "cudaEventElapsedTime", "cudaEventRecord", "cuEventElapsedTime", "hipEventElapsedTime",
	"hipEventRecord", "clGetEventProfilingInfo"}

// waiting are the C library's functions whose only use is to let time pass.
var waiting = []string{"sleep", "usleep", "nanosleep", "clock_nanosleep", "thrd_sleep", "pause", "alarm", "ualarm", "setitimer",
	"select", "pselect", "poll", "ppoll", "epoll_wait", "epoll_pwait", "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait"}

// ownClock is a function that takes time, "" for none, which an edit defines as a
// macro or as a function of its own. The linker never sees such a one where it is
// a macro, static or within another function.
func ownClock(e edit.Edit) string {
	for _, h := range e.Hunks {
		had := clocksOf(h.Search)
		for _, name := range clocksOf(h.Replace) {
			if !slices.Contains(had, name) {
				return name
			}
		}
	}
	return ""
}

// clocksOf are the clocks that lines define: #define NAME, or NAME(...) {.
func clocksOf(lines []string) []string {
	text := strings.Join(lines, "\n")
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return nil // only for a language that is not known
	}
	var words []string
	for _, p := range pieces {
		if p.Kind != tokenize.Space && p.Kind != tokenize.Comment && p.Kind != tokenize.Newline {
			words = append(words, text[p.Start:p.End])
		}
	}
	var out []string
	for i, w := range words {
		if slices.Contains(clocks, w) && (i > 1 && words[i-1] == "define" && words[i-2] == "#" || bodyFollows(words[i+1:])) {
			out = append(out, w)
		}
	}
	return out
}

// bodyFollows says that a list in parentheses and a brace follow.
func bodyFollows(words []string) bool {
	depth := 0
	for i, w := range words {
		switch w {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth <= 0 {
			return w == ")" && i+1 < len(words) && words[i+1] == "{"
		}
	}
	return false
}

// ofAttempts turns down a build that tries what the original's does not: to
// write, or to read outputs into the program.
func ofAttempts(original, p *Program) *Rejection {
	for _, a := range p.Tried {
		same := func(b sandbox.Attempt) bool { return a.Kind == b.Kind && a.Path == b.Path }
		if slices.ContainsFunc(original.Tried, same) {
			continue
		}
		reason := map[string]Reason{"write": Writes, "network": Network}[a.Kind]
		if reason == "" {
			reason = OutputCopied
		}
		return turnedDown(Building, reason, "the build "+a.String())
	}
	return nil
}

// ofFailedBuild turns down what does not build: invalid code, or a build without
// end.
func ofFailedBuild(p *Program) *Rejection {
	switch p.End {
	case "", sandbox.Exited, sandbox.Signalled:
	default:
		return turnedDown(Building, Exceeds, p.Failed)
	}
	detail := p.Failed
	for _, m := range build.Parse(p.Log) {
		if m.Severity == build.Error {
			detail += ": " + m.String()
			break
		}
	}
	return turnedDown(Building, InvalidCode, detail)
}

// mostDetail is how long a detail is, in bytes.
const mostDetail = 2000

// turnedDown is a rejection with a detail that may quote what others wrote: on
// one line, without characters that steer a terminal, and not without end.
func turnedDown(s Step, r Reason, detail string) *Rejection {
	detail = strings.Join(strings.Fields(strings.Map(func(c rune) rune {
		if c != '\n' && edit.Unseen(c) {
			return '\ufffd'
		}
		return c
	}, detail)), " ")
	if len(detail) > mostDetail {
		detail = strings.ToValidUTF8(detail[:mostDetail], "") + fmt.Sprintf(" ... (%d bytes more)", len(detail)-mostDetail)
	}
	return &Rejection{s, r, detail}
}
