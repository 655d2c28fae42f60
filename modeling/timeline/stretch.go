package timeline

import (
	"cmp"
	"slices"
	"time"
)

// stretch is a launch-bound stretch that goes on.
type stretch struct {
	Stretch
	names map[string]int
}

// add takes the work after a gap: it goes on, or it ends.
func (s *stretch) add(d *Device, o Options, g Gap, e event) {
	estimate := false
	waits := g.Time() <= o.StretchGap && g.Before.Launch != 0
	if waits {
		switch g.Wait {
		case HostWait:
		case UnknownWait:
			// Nothing joins it with a call: gaps as short as a call, and longer than
			// the work between them, are what a host that launches one by one leaves.
			estimate = true
			waits = g.Time() <= LaunchTime && e.work.Dur.V <= int64(g.Time())
		default:
			waits = false
		}
	}
	if !waits {
		s.end(d, o)
		return
	}
	if s.Launches == 0 {
		s.From, s.First, s.names = g.From, e.work, map[string]int{}
	}
	s.Launches++
	s.names[e.work.Name]++
	s.Idle += g.Time()
	s.Estimate = s.Estimate || estimate
	if e.call.known {
		s.Known++
		if e.work.Dur.V < e.call.dur {
			s.Short++
		}
	}
	s.Last, s.To = e.work, min(e.work.Start+e.work.Dur.V, d.To)
}

// end closes a stretch, which counts where it is long enough.
func (s *stretch) end(d *Device, o Options) {
	if s.Launches >= o.StretchLaunches {
		done := s.Stretch
		done.Busy = done.Time() - done.Idle
		best := 0
		for name, n := range s.names {
			if n > best || n == best && name < done.Top {
				best, done.Top = n, name
			}
		}
		d.Bound.Count++
		d.Bound.Launches += done.Launches
		d.Bound.Short += done.Short
		d.Bound.Idle += done.Idle
		d.Bound.Busy += done.Busy
		d.Bound.Estimate = d.Bound.Estimate || done.Estimate
		at, _ := slices.BinarySearchFunc(d.Stretches, done, func(a, b Stretch) int {
			return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.From, b.From))
		})
		if at < o.Stretches {
			d.Stretches = slices.Insert(d.Stretches, at, done)
			d.Stretches = d.Stretches[:min(len(d.Stretches), o.Stretches)]
		}
	}
	*s = stretch{}
}

// quiet is the idle share of a stretch.
func (s Stretch) quiet() float64 { return ratio(s.Idle, s.Time()) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
