package gprof

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// prefixes are those of the titles "ms/call" and "total us/call"; gprof chooses
// one for which the numbers have digits.
var prefixes = map[string]int{"T": 12, "G": 9, "M": 6, "K": 3, "": 0, "m": -3, "u": -6, "n": -9, "p": -12, "f": -15, "a": -18}

// units reads the second line of titles: "time seconds seconds calls ms/call
// ms/call name".
func (r *reader) units(titles string, line int) error {
	f := strings.Fields(titles)
	n := 0
	for _, t := range f[4:] {
		p, ok := strings.CutSuffix(t, "s/call")
		if !ok || n == 2 {
			continue
		}
		exp, known := prefixes[p]
		if !known {
			e := r.in.Syntax(line, 1, "the title of a column has an unknown unit")
			e.Expected, e.Found = `"s/call", "ms/call" or the like`, collectors.Quote(t)
			return e
		}
		r.perCall[n] = exp
		n++
	}
	return nil
}

func (r *reader) number(text string, exp, line int, what string) (float64, error) {
	if !r.styled {
		if s := collectors.StyleOf(text); s == collectors.Comma || s == collectors.Dot {
			r.style, r.styled = s, true
		}
	}
	v, err := collectors.ParseNumber(text, r.style, exp)
	if err != nil {
		e := r.in.Syntax(line, 1, what+" is no number")
		e.Expected, e.Found, e.Hint = "a number", collectors.Quote(text), "the line is damaged: run gprof again"
		return 0, e
	}
	return v, nil
}

// cut takes the first word of a line.
func cut(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// flatRow reads "% cumulative self [calls self/call total/call] name".
func (r *reader) flatRow(s string, line int) error {
	var texts [6]string
	rest := s
	for i := range 3 {
		texts[i], rest = cut(rest)
	}
	// Where a function was not compiled for counting the three columns are blank.
	if trimmed := strings.TrimLeft(rest, " "); len(rest)-len(trimmed) < 20 {
		w := rest
		for i := 3; i < 6; i++ {
			texts[i], w = cut(w)
			if _, err := strconv.ParseFloat(strings.Replace(texts[i], ",", ".", 1), 64); err != nil {
				if i != 3 { // older versions leave the times per call blank
					texts[i] = ""
					break
				}
				texts[3] = ""
				break
			}
			rest = w
		}
	}
	name := strings.TrimSpace(rest)
	if i := strings.LastIndex(name, " ["); i > 0 && strings.HasSuffix(name, "]") && isCalls(name[i+2:len(name)-1]) {
		name, _ = nameOf(name) // with -T gprof writes the index of the call graph here, too
	}
	if name == "" {
		e := r.in.Syntax(line, 1, "the row of the flat profile has no name")
		e.Expected, e.Found, e.Hint = "six numbers, or three, and a name", collectors.Quote(s), "the line is damaged: run gprof again"
		return e
	}
	id, err := r.function(name)
	if err != nil {
		return err
	}
	known := r.flat[id] // from a call graph above
	r.flat[id] = true
	for i, c := range []struct {
		metric, unit, rawUnit string
		exp                   int
	}{{"% time", "%", "%", 0}, {"cumulative seconds", "s", "seconds", 0}, {"self seconds", "s", "seconds", 0}, {"calls", "", "", 0},
		{"self per call", "s", unitName(r.perCall[0]), r.perCall[0]}, {"total per call", "s", unitName(r.perCall[1]), r.perCall[1]}} {
		if texts[i] == "" || known && c.metric == "self seconds" {
			continue
		}
		if err := r.counter(id, c.metric, texts[i], c.exp, c.unit, c.rawUnit, line); err != nil {
			return err
		}
	}
	return nil
}

func unitName(exp int) string {
	for p, e := range prefixes {
		if e == exp {
			return p + "s"
		}
	}
	return "s"
}

func (r *reader) counter(region int64, metric, text string, exp int, unit, rawUnit string, line int) error {
	v, err := r.number(text, exp, line, metric)
	if err != nil {
		return err
	}
	return r.out.Put(&datasets.Counter{Run: runID, Region: region, Metric: metric, Value: datasets.Some(v), Unit: unit, RawValue: text, RawUnit: rawUnit, Status: datasets.StatusOK})
}

// function returns the region of a function.
func (r *reader) function(name string) (int64, error) {
	if id, ok := r.regions[name]; ok {
		return id, nil
	}
	id, err := r.region(name, 0)
	r.regions[name] = id
	return id, err
}

// region emits a region. By line (-l) a name ends with "(file:12 @ 4010f0)".
func (r *reader) region(name string, parent int64) (int64, error) {
	r.next++
	plain, place := name, ""
	if i := strings.LastIndex(name, " ("); i > 0 && strings.HasSuffix(name, ")") && strings.Contains(name[i:], " @ ") {
		plain, place = name[:i], name[i+2:len(name)-1]
	}
	g := datasets.Region{ID: r.next, Run: runID, Parent: parent, Kind: datasets.KindFunction, Raw: name, Short: collectors.ShortName(plain)}
	if collectors.Demangle(plain) != plain {
		g.Mangled = plain
	}
	if err := r.out.Put(&g); err != nil {
		return 0, err
	}
	if place == "" {
		return g.ID, nil
	}
	source, address, _ := strings.Cut(place, " @ ")
	if err := r.out.Put(&datasets.Attribute{Run: runID, Region: g.ID, Name: "source", Value: source}); err != nil {
		return 0, err
	}
	return g.ID, r.out.Put(&datasets.Attribute{Run: runID, Region: g.ID, Name: "address", Value: address})
}

// entry is the entry of the call graph that is being read.
type entry struct {
	open    bool
	primary int64 // the function's region, once its line was met
	callees map[string]bool
}

// graphRow reads one line of an entry: callers above the line that begins with
// "[1]", callees below.
func (r *reader) graphRow(s string, line int) error {
	if strings.Trim(s, "-") == "" && len(s) > 10 {
		r.entry = entry{}
		return nil
	}
	r.entry.open = true
	first, rest := cut(s)
	if strings.HasPrefix(first, "[") && strings.HasSuffix(first, "]") {
		return r.primary(rest, line)
	}
	if r.entry.primary == 0 { // a caller: it is told again where it is the function itself
		return nil
	}
	return r.callee(s, line)
}

// nameOf cuts the index off: "name <cycle 1> [12]".
func nameOf(s string) (name, cycle string) {
	s = strings.TrimSpace(s)
	if i := strings.LastIndex(s, " ["); i > 0 && strings.HasSuffix(s, "]") {
		s = strings.TrimSpace(s[:i])
	}
	if i := strings.LastIndex(s, " <cycle "); i > 0 && strings.HasSuffix(s, ">") {
		return s[:i], strings.Trim(s[i:], " <>")
	}
	return s, ""
}

// primary reads "% time, self, children, [called], name [index]".
func (r *reader) primary(s string, line int) error {
	var texts [3]string
	for i := range 3 {
		texts[i], s = cut(s)
	}
	called, rest := cut(s)
	if !isCalls(called) {
		called, rest = "", s
	}
	name, cycle := nameOf(rest)
	if name == "" {
		return r.badRow(line, "the function's line of the call graph has no name")
	}
	id, err := r.function(name)
	if err != nil {
		return err
	}
	r.entry.primary, r.entry.callees = id, map[string]bool{}
	if cycle != "" {
		if err := r.out.Put(&datasets.Attribute{Run: runID, Region: id, Name: "cycle", Value: cycle}); err != nil {
			return err
		}
	}
	for i, c := range [][3]string{{"graph % time", "%", "%"}, {"graph self", "s", "seconds"}, {"graph children", "s", "seconds"}} {
		if err := r.counter(id, c[0], texts[i], 0, c[1], c[2], line); err != nil {
			return err
		}
	}
	// A function that was never found running is not in the flat profile. A
	// cycle as a whole is the sum of its members.
	if !r.flat[id] && !strings.HasPrefix(name, "<cycle ") {
		r.flat[id] = true
		if err := r.counter(id, "self seconds", texts[1], 0, "s", "seconds", line); err != nil {
			return err
		}
	}
	if err := r.inclusive(id, texts[1], texts[2], line); err != nil {
		return err
	}
	calls, self, recursive := strings.Cut(called, "+")
	if calls != "" {
		if err := r.counter(id, "called", calls, 0, "", "", line); err != nil {
			return err
		}
	}
	if recursive {
		return r.counter(id, "recursive calls", self, 0, "", "", line)
	}
	return nil
}

// isCalls knows "12", "3+2", "1/4" and "2+1/3".
func isCalls(s string) bool {
	return s != "" && strings.Trim(s, "0123456789+/") == "" && s[0] >= '0' && s[0] <= '9'
}

// inclusive is the time of a function with all that it called.
func (r *reader) inclusive(id int64, self, children string, line int) error {
	a, err := r.number(self, 0, line, "self")
	if err != nil {
		return err
	}
	b, err := r.number(children, 0, line, "children")
	if err != nil {
		return err
	}
	return r.out.Put(&datasets.Counter{Run: runID, Region: id, Metric: "inclusive seconds", Value: datasets.Some(a + b), Unit: "s",
		RawValue: self + " + " + children, RawUnit: "seconds", Status: datasets.StatusOK})
}

// callee reads "[self children] called/total name [index]"; calls within a
// cycle have no times.
func (r *reader) callee(s string, line int) error {
	var texts []string
	for len(texts) < 3 {
		w, rest := cut(s)
		if isCalls(w) && !strings.ContainsAny(w, ".,") {
			texts, s = append(texts, w), rest
			break
		}
		if collectors.StyleOf(w) == collectors.NotNumber {
			break
		}
		texts, s = append(texts, w), rest
	}
	name, cycle := nameOf(s)
	if name == "" || len(texts) != 1 && len(texts) != 3 {
		return r.badRow(line, "the line of a callee in the call graph is odd")
	}
	if name == "<spontaneous>" {
		return nil
	}
	id, err := r.region(name, r.entry.primary)
	if err != nil {
		return err
	}
	if cycle != "" {
		if err := r.out.Put(&datasets.Attribute{Run: runID, Region: id, Name: "cycle", Value: cycle}); err != nil {
			return err
		}
	}
	if len(texts) == 3 {
		for i, metric := range []string{"arc self", "arc children"} {
			if err := r.counter(id, metric, texts[i], 0, "s", "seconds", line); err != nil {
				return err
			}
		}
		if err := r.inclusive(id, texts[0], texts[1], line); err != nil {
			return err
		}
	}
	calls, all, several := strings.Cut(texts[len(texts)-1], "/")
	if err := r.counter(id, "arc calls", strings.TrimSuffix(calls, "+"), 0, "", "", line); err != nil {
		return err
	}
	if several {
		return r.counter(id, "arc calls of all", all, 0, "", "", line)
	}
	return nil
}

func (r *reader) badRow(line int, msg string) error {
	e := r.in.Syntax(line, 1, msg)
	e.Expected, e.Hint = "times, calls and a name", "the line is damaged: run gprof again"
	return e
}
