package perfscript

import (
	"bytes"
	"strconv"
	"strings"
)

// sample is the line that begins a sample.
type sample struct {
	comm     string
	pid, tid int64
	hasPID   bool
	hasTID   bool
	seconds  float64
	ns       int64
	timed    bool
	period   int64
	periodic bool // the period is there
	event    string
	rest     string // what follows the event
	frame    *frame // the only frame, where it is on the sample's line
	record   bool   // not a sample: PERF_RECORD_MMAP and the like
}

// splitSample cuts a line like
//
//	comm with spaces  12/34 [003] 184694.229089:     250000 cycles:u: trace
//
// from the left: the first number that the rest of the pattern follows is the
// thread.
func splitSample(text []byte) (sample, bool) {
	if !bytes.Contains(text, []byte(": ")) && text[len(text)-1] != ':' {
		return sample{}, false
	}
	s := string(text)
	for at := nextField(s, 0); at < len(s); at = nextField(s, fieldEnd(s, at)) {
		end := fieldEnd(s, at)
		comm := strings.TrimSpace(s[:at])
		if comm == "" {
			continue
		}
		var r sample
		if !r.thread(s[at:end]) {
			continue
		}
		r.comm = comm
		if r.afterThread(s[end:], isIndented(text)) {
			return r, true
		}
	}
	return sample{}, false
}

func nextField(s string, at int) int {
	for at < len(s) && (s[at] == ' ' || s[at] == '\t') {
		at++
	}
	return at
}

func fieldEnd(s string, at int) int {
	for at < len(s) && s[at] != ' ' && s[at] != '\t' {
		at++
	}
	return at
}

// thread reads "tid" or "pid/tid"; ids can be -1.
func (r *sample) thread(s string) bool {
	pid, tid, both := strings.Cut(s, "/")
	if !both {
		tid = pid
	}
	var err error
	if r.tid, err = strconv.ParseInt(tid, 10, 64); err != nil || r.tid < -1 {
		return false
	}
	r.hasTID = true
	if both {
		if r.pid, err = strconv.ParseInt(pid, 10, 64); err != nil || r.pid < -1 {
			return false
		}
		r.hasPID = true
	}
	return true
}

// afterThread reads what follows the thread. Where perf printed no time, only
// a line that is not indented is taken for a sample.
func (r *sample) afterThread(s string, indented bool) bool {
	s = strings.TrimLeft(s, " \t")
	if strings.HasPrefix(s, "[") { // the CPU
		end := strings.IndexByte(s, ']')
		if end < 0 || !allDigits(s[1:end]) {
			return false
		}
		s = strings.TrimLeft(s[end+1:], " \t")
	}
	field := s[:fieldEnd(s, 0)]
	if !strings.ContainsAny(field, ":.") && len(field) > 0 && len(field) <= 6 && strings.Trim(field, "UKHGgPEeSmMfFlcb-") == "" { // -F misc
		s = strings.TrimLeft(s[len(field):], " \t")
		field = s[:fieldEnd(s, 0)]
	}
	if stamp, ok := strings.CutSuffix(field, ":"); ok && r.stamp(stamp) {
		s = strings.TrimLeft(s[len(field):], " \t")
		if s == "" { // perf script -F comm,tid,time,ip,sym
			return true
		}
	} else if indented {
		return false
	}
	return r.eventField(s)
}

// stamp reads a time in seconds, "184694.229089".
func (r *sample) stamp(s string) bool {
	whole, frac, ok := strings.Cut(s, ".")
	if !ok || len(frac) > 9 || len(whole) > 9 || !allDigits(whole) || !allDigits(frac) {
		return false
	}
	sec, err1 := strconv.ParseInt(whole, 10, 64)
	ns, err2 := strconv.ParseInt((frac + "000000000")[:9], 10, 64)
	v, err3 := strconv.ParseFloat(s, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return false
	}
	r.ns, r.seconds, r.timed = sec*1e9+ns, v, true
	return true
}

// eventField reads "[period] event: [rest]".
func (r *sample) eventField(s string) bool {
	field := s[:fieldEnd(s, 0)]
	if n, err := strconv.ParseInt(field, 10, 64); err == nil && n >= 0 {
		r.period, r.periodic = n, true
		s = strings.TrimLeft(s[len(field):], " \t")
		field = s[:fieldEnd(s, 0)]
	}
	if strings.HasPrefix(field, "PERF_RECORD_") {
		r.record, r.event, r.rest = true, strings.TrimSuffix(field, ":"), strings.TrimSpace(s[len(field):])
		return true
	}
	// cpu/name=some event/: is the only kind with a space.
	if strings.Count(field, "/") == 1 {
		if i := strings.Index(s, "/:"); i > 0 {
			field = s[:i+2]
		} else if i := strings.Index(s[len(field):], "/"); i >= 0 {
			i += len(field)
			field = s[:fieldEnd(s, i)]
		}
	}
	event, ok := strings.CutSuffix(field, ":")
	if !ok || event == "" || allDigits(event) {
		return false
	}
	r.event, r.rest = event, strings.TrimSpace(s[len(field):])
	r.rest = withoutAccess(withoutBranches(r.rest))
	// A frame that has its module on the sample's own line: no call stacks.
	if strings.HasSuffix(r.rest, ")") {
		if f, ok := splitFrame([]byte(r.rest)); ok && f.module != "" {
			r.frame = &f
		}
	}
	return true
}

// withoutBranches cuts off the branches that -F brstack prints behind a frame,
// "0x55d0/0x55e8/P/-/-/3 main+0x14/solve+0x0/M/-/-/1".
func withoutBranches(s string) string {
	for {
		at := strings.LastIndexAny(s, " \t") + 1
		if last := s[at:]; at == 0 || strings.Count(last, "/") < 4 || strings.HasSuffix(last, ")") {
			return s
		}
		s = strings.TrimRight(s[:at], " \t")
	}
}

// withoutAccess cuts off what perf mem prints before a frame: the address of
// the data, where it came from and how long it took,
//
//	7ffc05a0 5080021 |OP LOAD|LVL L1 hit|SNP None|TLB L1 hit|LCK No|BLK N/A 12 55d0c0de main+0x14 (/a.out)
func withoutAccess(s string) string {
	if !strings.Contains(s, "|SNP ") {
		return s
	}
	for at := nextField(s, strings.LastIndexByte(s, '|')+1); at < len(s); at = nextField(s, fieldEnd(s, at)) {
		if isHex(s[at:fieldEnd(s, at)]) {
			return s[at:]
		}
	}
	return s
}

// frame is one function of a call stack.
type frame struct {
	symbol, module string
	inlined        bool
}

// splitFrame cuts a line like
//
//	7f443cc6f090 ns::name(int)+0x1f (/lib/my libs (old)/ld-2.27.so)
//
// The module is in the last parentheses that match.
func splitFrame(text []byte) (frame, bool) {
	s := strings.TrimSpace(string(text))
	end := fieldEnd(s, 0)
	if end == 0 || end > 16 || !isHex(s[:end]) {
		return frame{}, false
	}
	s = strings.TrimLeft(s[end:], " \t")
	// perf script -F addr prints a second address.
	if next := fieldEnd(s, 0); next >= 5 && next < len(s) && isHex(s[:next]) {
		s = strings.TrimLeft(s[next:], " \t")
	}
	var f frame
	if at := moduleAt(s); at >= 0 {
		f.module = s[at+1 : len(s)-1]
		s = strings.TrimRight(s[:at], " ")
		if i := strings.LastIndex(f.module, "+0x"); i > 0 && isHex(f.module[i+3:]) { // -F dsoff
			f.module = f.module[:i]
		}
	}
	if i := strings.LastIndex(s, "+0x"); i > 0 && isHex(s[i+3:]) {
		s = s[:i]
	}
	if s == "" {
		if f.module == "" {
			return f, false
		}
		s = "[unknown]"
	}
	f.symbol = s
	if f.module == "inlined" {
		f.module, f.inlined = "", true
	}
	return f, true
}

// moduleAt returns where the parentheses begin that end the text and stand
// apart from the symbol, -1 where there are none.
func moduleAt(s string) int {
	if !strings.HasSuffix(s, ")") {
		return -1
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				if i == 0 || s[i-1] == ' ' {
					return i
				}
				return -1
			}
		}
	}
	return -1
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
