package likwid

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// timeline are the names of a group's values, and where it has come to.
type timeline struct {
	group string
	names []string
}

// timelineTitle reads "# HWThreads,0,1" and "# GID,MetricsCount,CpuCount,Total
// runtime [s],name,...". The groups follow in the order of their numbers.
func (r *reader) timelineTitle(f []string, line int) error {
	switch {
	case f[0] == "HWThreads" || f[0] == "CORES":
		r.threads = nil
		for _, t := range f[1:] {
			r.threads = append(r.threads, strings.TrimSpace(t))
		}
	case f[0] == "GID" && len(f) > 4:
		g := strconv.Itoa(len(r.timeline) + 1)
		r.timeline[g] = &timeline{group: g, names: append([]string(nil), f[4:]...)}
	}
	return nil
}

// timelineRow reads "group,values per thread,threads,seconds,value,...": for
// each name one value per thread.
func (r *reader) timelineRow(f []string, line int) error {
	t := r.timeline[f[0]]
	fail := func(msg, expected string) error {
		e := r.in.Syntax(line, 1, msg)
		e.Expected, e.Found, e.Hint = expected, collectors.Quote(strings.Join(f, ",")), "the line is damaged, or the program wrote into the file"
		return e
	}
	if t == nil || len(f) < 4 {
		return fail("the line is of no group of the timeline", "the number of a group, counts and a time")
	}
	n, err := atoi(f[2])
	if err != nil || n < 1 || n > 1<<16 || len(r.threads) > 0 && n != len(r.threads) || len(f)-4 != n*len(t.names) {
		return fail("the line of the timeline has another number of values", fmt.Sprintf("%d names for each thread", len(t.names)))
	}
	at, err := collectors.ParseNumber(f[3], collectors.Dot, 9)
	if err != nil || at < 0 || at > 9e18 {
		return fail("the line of the timeline has no time", "seconds")
	}
	region, err := r.region("")
	if err != nil {
		return err
	}
	for j := range n {
		thread := strconv.Itoa(j)
		if j < len(r.threads) {
			thread = r.threads[j]
		}
		l := datasets.Launch{ID: int64(len(r.launches) + 1), Run: runID, Region: region, DurNs: datasets.Null[int64]{}}
		l.Sequence = datasets.Some(l.ID - 1)
		r.launches[launchKey{region, t.group, fmt.Sprint(l.ID), 0}] = l.ID
		if id, err := atoi(thread); err == nil {
			l.Thread = datasets.Some(int64(id))
		}
		// The time is that since the start at which the values were read: an
		// interval begins where the one before it ended.
		begin := r.last(thread)
		if int64(math.Round(at)) >= begin {
			l.StartNs, l.DurNs = datasets.Some(begin), datasets.Some(int64(math.Round(at))-begin)
		}
		r.ends[thread] = int64(math.Round(at))
		if err := r.out.Put(&l); err != nil {
			return err
		}
		for _, a := range [][2]string{{"hwthread", thread}, {"group number", t.group}} {
			if err := r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: l.ID, Name: a[0], Value: a[1]}); err != nil {
				return err
			}
		}
		for i, name := range t.names {
			c := datasets.Counter{Run: runID, Region: region, Launch: l.ID, Metric: name}
			if err := r.number(&c, name, strings.TrimSpace(f[4+i*n+j]), line, columnOf(f, 4+i*n+j)); err != nil {
				return err
			}
			for _, before := range t.names[:i] { // an event on several registers
				if before == name {
					c.Instance = "#" + strconv.Itoa(i+1)
				}
			}
			r.values++
			if name == "Runtime (RDTSC) [s]" && c.Value.Valid {
				r.times[name] = true
			}
			if err := r.out.Put(&c); err != nil {
				return err
			}
		}
	}
	return nil
}

// last is where the last interval of a thread ended.
func (r *reader) last(thread string) int64 {
	if r.ends == nil {
		r.ends = map[string]int64{}
	}
	return r.ends[thread]
}
