package collectors

import "strings"

// Unit is a tool's unit in terms of a base unit: one of it is
// 10^Exp10 * 2^Exp2 of Base. Base is "s", "Hz", "byte", "byte/s", "%", or a
// name that has no SI unit ("inst", "thread", "register/thread").
type Unit struct {
	Base  string
	Exp10 int
	Exp2  int
}

// seconds and hertz are the spellings of the two SI units which tools write
// with prefixes of many kinds; keys are in lower case.
var fixedUnits = map[string]Unit{
	"s": {"s", 0, 0}, "sec": {"s", 0, 0}, "secs": {"s", 0, 0}, "second": {"s", 0, 0}, "seconds": {"s", 0, 0},
	"ms": {"s", -3, 0}, "msec": {"s", -3, 0}, "msecond": {"s", -3, 0}, "millisecond": {"s", -3, 0}, "milliseconds": {"s", -3, 0},
	"us": {"s", -6, 0}, "µs": {"s", -6, 0}, "μs": {"s", -6, 0}, "usec": {"s", -6, 0}, "usecond": {"s", -6, 0}, "microsecond": {"s", -6, 0}, "microseconds": {"s", -6, 0},
	"ns": {"s", -9, 0}, "nsec": {"s", -9, 0}, "nsecond": {"s", -9, 0}, "nanosecond": {"s", -9, 0}, "nanoseconds": {"s", -9, 0},
	"hz": {"Hz", 0, 0}, "khz": {"Hz", 3, 0}, "mhz": {"Hz", 6, 0}, "ghz": {"Hz", 9, 0}, "thz": {"Hz", 12, 0},
	"%": {"%", 0, 0}, "percent": {"%", 0, 0}, "pct": {"%", 0, 0},
	"b": {"byte", 0, 0}, "byte": {"byte", 0, 0}, "bytes": {"byte", 0, 0},
	"kb": {"byte", 3, 0}, "mb": {"byte", 6, 0}, "gb": {"byte", 9, 0}, "tb": {"byte", 12, 0}, "pb": {"byte", 15, 0},
	"kib": {"byte", 0, 10}, "mib": {"byte", 0, 20}, "gib": {"byte", 0, 30}, "tib": {"byte", 0, 40},
}

// counts are names that a prefix can stand before, "Kbyte", "Minst".
var counts = []string{"byte", "bit", "inst", "cycle", "sector", "request", "op", "flop", "thread", "warp", "block", "transaction", "event", "query"}

var prefixes = map[byte]int{'K': 3, 'k': 3, 'M': 6, 'G': 9, 'T': 12, 'P': 15}

// ParseUnit reads a unit as tools spell it: "Kbyte", "usecond", "Ghz",
// "cycle/nsecond", "Gbyte/s". A name that it does not know is its own base.
// Nsight Compute's Kbyte is 1000 bytes (65,536 bytes are its 65.54 Kbyte).
func ParseUnit(s string) Unit {
	s = strings.TrimSpace(s)
	num, den, ratio := strings.Cut(s, "/")
	if !ratio {
		return oneUnit(s)
	}
	n, d := oneUnit(num), oneUnit(den)
	u := Unit{n.Base + "/" + d.Base, n.Exp10 - d.Exp10, n.Exp2 - d.Exp2}
	if u.Base == "cycle/s" { // the old spelling of a frequency
		u.Base = "Hz"
	}
	return u
}

func oneUnit(s string) Unit {
	s = strings.TrimSpace(s)
	if u, ok := fixedUnits[strings.ToLower(s)]; ok {
		return u
	}
	for _, c := range counts {
		name := strings.TrimSuffix(s, "s")
		if name == c {
			return Unit{Base: c}
		}
		if len(name) == len(c)+1 && strings.HasSuffix(name, c) {
			if e, ok := prefixes[name[0]]; ok {
				return Unit{Base: c, Exp10: e}
			}
		}
	}
	return Unit{Base: s}
}

// Scale returns a number's value in the base unit.
func (u Unit) Scale(number string, style Style) (float64, error) {
	v, err := ParseNumber(number, style, u.Exp10)
	for range u.Exp2 {
		v *= 2
	}
	for range -u.Exp2 {
		v /= 2
	}
	return v, err
}
