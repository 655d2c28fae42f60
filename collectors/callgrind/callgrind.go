// Package callgrind reads profiles in Callgrind's format, version 1, whoever
// wrote them: Valgrind's callgrind (one part or several, with or without
// threads, caches, branches and jumps), Xdebug, pprof and others.
//
// In flows the text, out flows one run. The format holds a call graph and no
// tree, so regions have no parents:
//
//	region     a function: kind "function", module its object. A function is
//	           one of its object, file and name; attribute file
//	launch     the sum over one part (one dump of one thread) for a function,
//	           with process and thread; tool id "part 2"; attributes timerange
//	           and trigger, which are of the run where the file has one part
//	counter    for every event E, per launch: E, the exclusive cost, and
//	           E.inclusive; calls, how often the function was called.
//	           For every function that it called, with the callee's name as
//	           instance: calls.to and E.to, the inclusive cost of those calls.
//	           A name that several functions have is followed by its file.
//	code       a line, or with instruction positions an instruction, that
//	           had costs; inline depth 1 where it is of another file
//	pc_sample  the exclusive cost of a code, the event's name as reason (only
//	           costs above 0), and jumps, branches and branches.taken
//
// Callers and callees are then one query:
//
//	SELECT g.short AS caller, c.instance AS callee, c.value AS calls
//	FROM counter c JOIN region g ON g.id = c.region_id WHERE c.metric = 'calls.to'
//
// Callgrind's own total (attribute summary.E of the run) may be larger than the
// sum over functions: it counts what no function did.
//
// An inclusive cost is the exclusive one and that of the calls, but for calls
// of the function itself. Callgrind writes recursive calls of f as calls of
// another function, f'2, so that f's inclusive cost is exact. What is left of
// functions that call each other in a circle (f'2, and all with other writers)
// has the attribute cycle, and the circle as a whole is a region "<cycle 1>"
// with its inclusive cost, which is exact. For these functions the file does
// not tell: their inclusive cost is the larger of what calls from outside cost
// and of their own cost with calls that leave the circle, and may be too low.
//
// Xdebug and others write a unit behind an event's name, "Time_(10ns)"; a
// definition "event: Cyc = Ir + 10 Bim" in the header gives one more counter.
package callgrind

import (
	"bytes"
	"regexp"

	"github.com/rooflab/rooflab/collectors"
)

const formatName = "callgrind"

func init() {
	collectors.Register(collectors.Format{
		Name:    formatName,
		About:   "Callgrind (Valgrind, Xdebug, pprof -callgrind)",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
}

var (
	headerLine = regexp.MustCompile(`(?m)^(version: *1|creator: .*|positions: .*|part: *[0-9]+)\r?$`)
	eventsLine = regexp.MustCompile(`(?m)^events: *\S`)
	bodyLine   = regexp.MustCompile(`(?m)^(fn|fl|ob)=`)
	graphLine  = regexp.MustCompile(`(?m)^(calls=[0-9]+ |c?fn=\([0-9]+\)|cob=|cf[inl]=)`)
)

// detect looks for what Callgrind's format has and Cachegrind's, a subset of
// it, has not.
func detect(h collectors.Head) collectors.Confidence {
	if bytes.HasPrefix(h.Bytes, []byte("# callgrind format")) {
		return collectors.Certain
	}
	if !h.HasLine("events:") || !eventsLine.Match(h.Bytes) {
		return collectors.No
	}
	body := bodyLine.Match(h.Bytes)
	switch {
	case body && (headerLine.Match(h.Bytes) || graphLine.Match(h.Bytes)):
		return collectors.Certain
	case headerLine.Match(h.Bytes) && bytes.HasPrefix(h.Bytes, []byte("version:")) && h.HasLine("creator: ", "positions: ", "cmd: ", "desc: ", "pid: "):
		return collectors.Likely // a run that collected nothing
	}
	return collectors.No
}
