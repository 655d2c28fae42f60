package timeline

import (
	"cmp"
	"slices"
	"time"
)

// hostCall is a call of the host that may reach into the next gap.
type hostCall struct {
	Activity
	start, end int64
}

// spent is what the host did under one name since the device is dry.
type spent struct {
	Activity
	longest time.Duration // of one piece
	least   time.Duration // the shortest piece as a whole
}

type hostName struct {
	class Class
	name  string
}

// doings remember what the host did since all work so far has ended, or will
// have ended: few calls one by one, and more by name.
type doings struct {
	open []hostCall
	sums map[hostName]*spent
}

// mostOpen is how many calls are kept one by one.
const mostOpen = 1024

// add takes a call. dry is when the device will have run dry.
func (h *doings) add(a Activity, start, end, dry int64) {
	if len(h.open) >= mostOpen {
		h.fold(dry, start)
	}
	h.open = append(h.open, hostCall{a, start, end})
}

// fold adds up, by name, what ended until now.
func (h *doings) fold(dry, now int64) {
	h.open = slices.DeleteFunc(h.open, func(d hostCall) bool {
		if d.end > now {
			return false
		}
		h.count(d, dry, d.end)
		return true
	})
}

// count adds what a call has between two times.
func (h *doings) count(d hostCall, from, to int64) {
	t := time.Duration(min(d.end, to) - max(d.start, from))
	if t <= 0 {
		return
	}
	k := hostName{d.Class, d.Name}
	s := h.sums[k]
	if s == nil {
		if h.sums == nil {
			h.sums = map[hostName]*spent{}
		}
		s = &spent{Activity: d.Activity, least: time.Duration(d.end - d.start)}
		h.sums[k] = s
	}
	s.Time += t
	s.least = min(s.least, time.Duration(d.end-d.start))
	if t > s.longest {
		s.longest, s.Row = t, d.Row
	}
}

// forget drops what is over when the device runs dry anew.
func (h *doings) forget(dry int64) {
	h.open = slices.DeleteFunc(h.open, func(d hostCall) bool { return d.end <= dry })
	clear(h.sums)
}

// within is what the host did during a gap: the two calls that took longest in
// all, and the operator that was open for longest, the innermost of several.
func (h *doings) within(from, to int64) []Activity {
	for _, d := range h.open {
		h.count(d, from, to)
	}
	var all []spent
	for _, s := range h.sums {
		if s.Class == HostOperator {
			s.Time = s.longest // operators contain each other
		}
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b spent) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.least, b.least), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Name, b.Name))
	})
	var out []Activity
	kept := map[bool]int{}
	for _, s := range all {
		operator := s.Class == HostOperator
		if most := map[bool]int{true: 1, false: 2}[operator]; kept[operator] < most {
			kept[operator]++
			out = append(out, s.Activity)
		}
	}
	return out
}
