// Package align scores how well edits agree with the evidence that they were
// made from: whether an adviser reads the profile or only sounds as if it did.
//
// In flow Cases: an edit with what became of it, the evidence items that were
// supplied, and the metrics measured before and after. Out flow Scores, one for
// each edit, and Summaries of them by run and by backend, as tables, as
// dataframes and (package align/chart) as a picture.
//
// The scores are the evidence-aligned reasoning scores of Optimas (2025):
//
//	evidence coverage        ids cited that were supplied / ids supplied
//	location agreement       edited lines that the evidence implicates / edited lines
//	directional consistency  cited counters that moved as predicted / cited counters
//	hallucinations           ids cited that were not supplied (a count)
//
// Optimas leaves open what to do where a profile is silent; here
//
//   - the lines implicated are those of the supplied items that the edit cites.
//     Items that name no line implicate none; if no cited item names one,
//     location agreement is unknown, and so it is for a rejected edit;
//   - edited lines are counted in the text before, which is what was profiled.
//     An insertion is one edited line, implicated with the line on either side;
//   - the cited counters are the metrics of the edit's predictions. One that was
//     not measured before or after (no profile after, a denied counter) is in
//     neither part of the fraction, and counted as Unmeasured.
//     One that is predicted both up and down is in the lower part alone;
//   - a counter has moved if it changed by more than Options.MinEffect.
//
// No score says all: who cites every id has full coverage, and is found out by
// location and direction.
//
// What is unknown stays so: it is no 0, and means are over what is known.
package align

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Values are measured metrics by name, as insight and predictions have them;
// one that is not there is unknown.
type Values map[string]float64

// Case is one edit with what is known about it.
type Case struct {
	Run      string // of the optimizer
	Backend  string // that made the edit
	Edit     int    // its number within the run
	Supplied []insight.Item
	Outcome  edit.Outcome
	// Before and After are of the profile that the evidence is from, and of the
	// same with the edit; nil where there is none.
	Before, After Values
}

// Options say what counts. The zero value is ready to use.
type Options struct {
	// MinEffect is the change, as a part of the value before, up to which a
	// counter has not moved; 0 is DefaultMinEffect, below 0 is none.
	MinEffect float64
	// Near is how many lines beside an implicated one are implicated too.
	Near int
}

// DefaultMinEffect is one per cent: hardware counters of unchanged kernels
// differ by up to about that from run to run.
const DefaultMinEffect = 0.01

// Part is a fraction of counts. With All 0 it is unknown.
type Part struct{ Of, All int }

// Known says that there is a fraction.
func (p Part) Known() bool { return p.All > 0 }

// Value is the fraction, NaN where it is unknown.
func (p Part) Value() float64 {
	if !p.Known() {
		return math.NaN()
	}
	return float64(p.Of) / float64(p.All)
}

// Score is how one edit agrees with its evidence.
type Score struct {
	Run, Backend string
	Edit         int
	Rejected     edit.Reason // "": accepted
	Coverage     Part        // of supplied ids
	Location     Part        // of edited lines
	Direction    Part        // of measured predictions
	Unmeasured   int         // predictions of which no change is known
	Hallucinated int         // ids that were not supplied
}

// Of scores an edit.
func Of(c Case, opt Options) Score {
	s := Score{Run: c.Run, Backend: c.Backend, Edit: c.Edit}
	if r := c.Outcome.Rejected; r != nil {
		s.Rejected = r.Reason
	}
	ids := map[string]bool{}
	for _, i := range c.Supplied {
		ids[strings.ToUpper(i.ID)] = true
	}
	cited := map[string]bool{}
	for _, id := range c.Outcome.Edit.Evidence {
		cited[strings.ToUpper(id)] = true
	}
	s.Coverage.All = len(ids)
	for id := range cited {
		if ids[id] {
			s.Coverage.Of++
		} else {
			s.Hallucinated++
		}
	}
	var places []insight.Location
	for _, i := range c.Supplied {
		if l := i.Location; cited[strings.ToUpper(i.ID)] && l != nil && l.Line > 0 && l.File != "" {
			places = append(places, *l)
		}
	}
	if len(places) > 0 && s.Rejected == "" {
		s.Location = location(c.Outcome.Changes, places, max(0, opt.Near))
	}
	s.Direction, s.Unmeasured = direction(c, opt)
	return s
}

// location counts edited lines, and those of them that are at a place.
func location(changes []edit.Change, places []insight.Location, near int) (p Part) {
	at := func(file string, lines ...int) bool {
		return slices.ContainsFunc(places, func(l insight.Location) bool {
			if !sameFile(l.File, file) {
				return false
			}
			first, last := int(l.Line)-near, int(max(l.Line, l.EndLine))+near
			return slices.ContainsFunc(lines, func(n int) bool { return n >= first && n <= last })
		})
	}
	for _, c := range changes {
		if c.Old.Len() <= 0 {
			p.All++
			if at(c.File, c.Old.Start-1, c.Old.Start) {
				p.Of++
			}
			continue
		}
		for l := c.Old.Start; l <= c.Old.End; l++ {
			p.All++
			if at(c.File, l) {
				p.Of++
			}
		}
	}
	return p
}

// sameFile says that a path of a profile, often absolute and of another
// machine, or a name alone, may be a source's.
func sameFile(profiled, source string) bool {
	profiled, source = "/"+clean(profiled), "/"+clean(source)
	return strings.HasSuffix(profiled, source) || strings.HasSuffix(source, profiled)
}

func clean(p string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(p, `\`, "/")), "/")
}

// direction counts the counters that are predicted and of which a change is
// known, and those of them that moved as predicted. One that is predicted to move
// both ways is predicted by nobody: it is wrong whatever it does.
func direction(c Case, opt Options) (p Part, unmeasured int) {
	effect := opt.MinEffect
	if effect == 0 {
		effect = DefaultMinEffect
	}
	ways := map[string]map[edit.Direction]bool{}
	var counters []string
	for _, d := range c.Outcome.Edit.Predictions {
		name := strings.ToLower(d.Metric)
		if ways[name] == nil {
			ways[name] = map[edit.Direction]bool{}
			counters = append(counters, d.Metric)
		}
		ways[name][d.Direction] = true
	}
	for _, metric := range counters {
		before, ok := c.Before.find(metric)
		after, ok2 := c.After.find(metric)
		if !ok || !ok2 || math.IsNaN(before) || math.IsNaN(after) {
			unmeasured++
			continue
		}
		p.All++
		change := after - before
		said := ways[strings.ToLower(metric)]
		if said[edit.Down] {
			change = -change
		}
		if len(said) == 1 && change > max(0, effect)*math.Abs(before) {
			p.Of++
		}
	}
	return p, unmeasured
}

// find is the value of a metric, whose letters may be large or small where no
// other has the same.
func (v Values) find(metric string) (float64, bool) {
	if x, ok := v[metric]; ok {
		return x, true
	}
	found, n := 0.0, 0
	for name, x := range v {
		if strings.EqualFold(name, metric) {
			found = x
			n++
		}
	}
	return found, n == 1
}
