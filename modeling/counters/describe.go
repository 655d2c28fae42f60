package counters

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Description is what a counter means.
type Description struct {
	Text   string // in words, one sentence without a full stop; "" where the name is not known
	Unit   string // of the value as the tool counts it; "" where unknown
	Source string // who counts so: "NVIDIA", "nvprof", "AMD", "perf", "PAPI", "callgrind", "LIKWID", "tuner"
}

const sourceTuner = "tuner" // facts that autotuners report beside counters

// String is the text with the unit.
func (d Description) String() string {
	switch {
	case d.Text == "":
		return "no description"
	case d.Unit == "":
		return d.Text
	}
	return d.Text + " [" + d.Unit + "]"
}

// Describe says what a counter means, by its name: those of Nsight Compute
// and CUPTI by the parts that their names are made of, those of nvprof, AMD's
// profilers, perf, PAPI, callgrind and LIKWID by tables of patterns. An instance in
// brackets and an event modifier (":u") are not looked at.
func Describe(name string) Description {
	name = strings.TrimSpace(name)
	bracket := ""
	if i := strings.IndexByte(name, '['); i > 0 {
		bracket = strings.Trim(name[i:], "[]")
		name = strings.TrimSpace(name[:i])
	}
	if d := describeNVIDIA(name); d.Text != "" {
		return d
	}
	for _, t := range tables() {
		for _, r := range t.rules {
			m := r.pattern.FindStringSubmatchIndex(name)
			if m == nil {
				continue
			}
			text := string(r.pattern.ExpandString(nil, r.text, name, m))
			d := Description{Text: strings.TrimSpace(text), Unit: r.unit, Source: t.source}
			if t.source == "LIKWID" && d.Unit == "" {
				d.Unit = bracket // its metrics have their unit there
			}
			return d
		}
	}
	return Description{}
}

// meaning is one pattern of names, which must match the whole name.
type meaning struct {
	pattern    *regexp.Regexp
	text, unit string
}

type meanings struct {
	source string
	rules  []meaning
}

// tables are compiled when first asked for.
var tables = sync.OnceValue(func() []meanings {
	var out []meanings
	for _, t := range []struct {
		source, flags, end string
		rows               [][3]string
	}{
		{"callgrind", "", "", callgrindNames},
		{"PAPI", "", "", papiNames},
		{"AMD", "(?i)", `(?:_sum|_avr|_avg|_max|_min)?`, slices.Concat(amdMore, amdNames)},
		{"nvprof", "", "", nvprofNames},
		{"perf", "(?i)", `(?::[a-zA-Z]+)?/?`, perfNames},
		{"LIKWID", "", "", likwidNames},
		{sourceTuner, "", "", tunerNames},
	} {
		m := meanings{source: t.source}
		for _, r := range t.rows {
			m.rules = append(m.rules, meaning{regexp.MustCompile(t.flags + `^(?:` + r[0] + `)` + t.end + `$`), r[1], r[2]})
		}
		out = append(out, m)
	}
	return out
})
