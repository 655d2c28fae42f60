package ncu

import (
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// numbers decides once per file whether the decimal separator is a point or a
// comma, and holds back the counters whose text reads differently in the two
// until then.
type numbers struct {
	p     *parser
	style collectors.Style // Dot or Comma once it is known
	line  int              // where it was decided
	text  string
	held  []heldCounter
	units map[string]unit
	rec   datasets.Counter // of the value that is read
}

// unit is what a cell of units says.
type unit struct {
	collectors.Unit
	isNumber bool // it is none: a cell is missing before it
}

type heldCounter struct {
	c            datasets.Counter
	l            *launch
	line, column int
}

// maxHeld is how many counters are held back before the default is taken.
const maxHeld = 1 << 17

// noValue are the texts by which ncu says that there is no value.
var noValue = map[string]bool{"": true, "n/a": true, "nan": true, "-nan": true, "-nan(ind)": true, "nan(ind)": true, "inf": true, "-inf": true, "-": true, "(null)": true, "no data": true}

// counter puts one value of a launch.
func (n *numbers) counter(l *launch, metric, instance, unit string, f field) error {
	raw := strings.TrimSpace(f.text)
	c := &n.rec // the sink copies it
	*c = datasets.Counter{Run: runID, Region: l.rec.Region, Launch: l.rec.ID, Metric: metric, Instance: instance,
		RawValue: raw, RawUnit: unit, Unit: n.unit(unit).Base, Status: datasets.StatusOK}
	bare := raw
	if mark, rest, ok := strings.Cut(raw, ") "); ok && mark == "(!" {
		// So ncu marks what it could not measure or doubts.
		bare = strings.TrimSpace(rest)
		n.p.once("marked", "ncu marked the value of %s: %s", metric, collectors.Quote(raw))
	}
	if (bare == "" || bare[0] < '0' || bare[0] > '9') && noValue[strings.ToLower(bare)] {
		c.Status = datasets.StatusNA
		return n.p.out.Put(c)
	}
	_, style, ok := whole(raw)
	if !ok {
		style = collectors.StyleOf(number(raw))
	}
	switch {
	case style == collectors.NotNumber:
		if unit != "" && (raw[0] >= '0' && raw[0] <= '9') {
			e := n.p.in.Syntax(f.line, f.column, "the value of "+metric+" in "+unit+" is no number")
			e.Found, e.Hint = collectors.Quote(raw), "the cell is damaged: export the profile again"
			return e
		}
		if unit != "" { // a text is no value of something that has a unit
			n.p.out.Warn(f.line, f.column, "the value of %s in %s is no number: %s: it has none", metric, unit, collectors.Quote(raw))
			c.Status = datasets.StatusNA
		}
		if metric == "device__attribute_display_name" {
			n.p.machine.GPU = raw
		}
		return n.p.out.Put(c) // a metric that is a text, such as a cache's configuration
	case style == collectors.Ambiguous:
		if w := wholeCount(metric, unit, raw); w != collectors.NotNumber {
			style = w
		}
	}
	switch {
	case style == collectors.Dot || style == collectors.Comma:
		if n.style == collectors.NotNumber {
			n.style, n.line, n.text = style, f.line, raw
			if err := n.release(); err != nil {
				return err
			}
		} else if style != n.style {
			e := n.p.in.Syntax(f.line, f.column, "the file mixes decimal points and decimal commas")
			e.Found = collectors.Quote(raw) + " after " + collectors.Quote(n.text) + " in line " + itoa(n.line)
			e.Hint = "export the profile again, with LC_ALL=C"
			return e
		}
	case style == collectors.Ambiguous && n.style == collectors.NotNumber:
		l.held++
		n.held = append(n.held, heldCounter{*c, l, f.line, f.column})
		if len(n.held) >= maxHeld {
			return n.decide()
		}
		return nil
	}
	return n.put(c, l, f.line, f.column)
}

// unit remembers the few units of a file.
func (n *numbers) unit(s string) unit {
	u, ok := n.units[s]
	if !ok {
		u = unit{collectors.ParseUnit(s), collectors.StyleOf(s) != collectors.NotNumber}
		if len(n.units) < 1000 {
			n.units[s] = u
		}
	}
	return u
}

// number cuts ncu's mark before the value, and what --print-metric-instances
// writes after it: "12 (1; 11)".
func number(raw string) string {
	raw = strings.TrimPrefix(raw, "(!) ")
	if before, _, ok := strings.Cut(raw, " ("); ok && strings.HasSuffix(raw, ")") {
		return before
	}
	return raw
}

// wholeCount reads a number such as "117.344" as a count: sums of things in
// units that were not scaled are whole numbers, so the separator groups.
func wholeCount(metric, unit, raw string) collectors.Style {
	if !strings.HasSuffix(metric, ".sum") {
		return collectors.NotNumber
	}
	switch unit {
	case "ns", "nsecond", "byte", "inst", "cycle", "sector", "request", "thread", "warp":
		if strings.Contains(raw, ".") {
			return collectors.Comma
		}
		return collectors.Dot
	}
	return collectors.NotNumber
}

// put scales a value and puts its counter.
func (n *numbers) put(c *datasets.Counter, l *launch, line, column int) error {
	u := n.unit(c.RawUnit)
	if v, _, ok := whole(c.RawValue); ok && u.Exp10 == 0 && u.Exp2 == 0 {
		c.Value = datasets.Some(v)
		n.p.observe(l, c.Metric, u.Base, v)
		return n.p.out.Put(c)
	}
	v, err := u.Scale(number(c.RawValue), n.style)
	if err != nil {
		e := n.p.in.Syntax(line, column, "the value of "+c.Metric+": "+err.Error())
		e.Hint = "the cell is damaged: export the profile again"
		return e
	}
	c.Value = datasets.Some(v)
	n.p.observe(l, c.Metric, u.Base, v)
	return n.p.out.Put(c)
}

// whole reads a whole number of at most 15 digits, which a float64 holds
// exactly, with or without groups of thousands. It is the way of most values;
// ok is false for all others and for what could be a decimal number.
func whole(s string) (v float64, style collectors.Style, ok bool) {
	n, digits, group, groups, sep := int64(0), 0, 0, 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
			digits++
			group++
		case (c == ',' || c == '.') && (sep == 0 || sep == c) && group > 0 && (group == 3 || groups == 0 && group < 3):
			sep, group = c, 0
			groups++
		default:
			return 0, collectors.NotNumber, false
		}
		if digits > 15 {
			return 0, collectors.NotNumber, false
		}
	}
	switch {
	case digits == 0 || groups == 1 || groups > 1 && group != 3:
		return 0, collectors.NotNumber, false
	case groups == 0:
		style = collectors.Plain
	case sep == ',':
		style = collectors.Dot
	default:
		style = collectors.Comma
	}
	return float64(n), style, true
}

// release puts what was held back.
func (n *numbers) release() error {
	held := n.held
	n.held = nil
	for i := range held {
		h := &held[i]
		if err := n.put(&h.c, h.l, h.line, h.column); err != nil {
			return err
		}
		h.l.held--
		if err := n.p.send(h.l); err != nil {
			return err
		}
	}
	return nil
}

// decide takes the default where the file has shown nothing: a decimal point,
// which is what ncu writes unless a locale is set.
func (n *numbers) decide() error {
	if n.style == collectors.NotNumber && len(n.held) > 0 {
		n.style, n.line, n.text = collectors.Dot, n.held[0].line, n.held[0].c.RawValue
		n.p.out.Warn(n.line, n.held[0].column, "%s could be a decimal number or a grouped one, and nothing in the file tells which: points are taken for decimal", collectors.Quote(n.text))
	}
	return n.release()
}
