package timeline

// callKey joins work with its call.
type callKey struct{ group, pid, corr int64 }

// early is a kernel whose call has not begun yet.
type early struct {
	device int
	start  int64
}

// inFlight holds the calls whose work may still come: the latest of them, many
// times as many as a device's queue takes (about a thousand launches, after
// which a launch waits for the device). A call stays when its work has come, for a
// graph's is many pieces.
type inFlight struct {
	calls   map[callKey]call
	order   []callKey // a ring of those in calls
	next    int
	waiting map[callKey]early
}

const (
	mostCalls   = 1 << 18
	mostWaiting = 1 << 16
)

// put takes a call. Of several with one id the first is kept.
func (f *inFlight) put(key callKey, c call) {
	if f.calls == nil {
		f.calls = map[callKey]call{}
	}
	if _, ok := f.calls[key]; ok {
		return
	}
	f.calls[key] = c
	if len(f.order) < mostCalls {
		f.order = append(f.order, key)
		return
	}
	delete(f.calls, f.order[f.next])
	f.order[f.next] = key
	f.next = (f.next + 1) % mostCalls
}

// await remembers a kernel whose call is not known, to see whether it comes
// later. Beyond some there is no need to: the clocks differ.
func (f *inFlight) await(key callKey, e early) {
	if f.waiting == nil {
		f.waiting = map[callKey]early{}
	}
	if len(f.waiting) < mostWaiting {
		f.waiting[key] = e
	}
}
