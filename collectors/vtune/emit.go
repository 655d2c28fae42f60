package vtune

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// emit makes regions of the rows.
func (t *table) emit() error {
	kind := datasets.KindRange
	if groupings[t.columns[0].name] {
		kind = datasets.KindFunction
	}
	module := -1
	for i, c := range t.columns {
		if c.name == "Module" && i > 0 {
			module = i
		}
	}
	if err := t.out.Put(&datasets.Attribute{Run: runID, Name: "grouping", Value: t.columns[0].name}); err != nil {
		return err
	}
	var above []int64 // the regions around, by depth
	for n, r := range t.rows {
		name := strings.TrimSpace(r.cells[0].text)
		if name == "" {
			e := t.in.Syntax(r.line, r.cells[0].column, "the row has no name")
			e.Expected = "a " + t.columns[0].name
			return e
		}
		above = above[:r.depth]
		g := datasets.Region{ID: int64(n + 1), Run: runID, Kind: kind, Raw: name, Short: name}
		if kind == datasets.KindFunction {
			g.Short = collectors.ShortName(name)
			if collectors.Demangle(name) != name {
				g.Mangled = name
			}
		}
		if r.depth > 0 {
			g.Parent = above[r.depth-1]
		}
		if module >= 0 {
			g.Module = strings.TrimSpace(r.cells[module].text)
		}
		above = append(above, g.ID)
		if err := t.out.Put(&g); err != nil {
			return err
		}
		for i := 1; i < len(t.columns); i++ {
			if i == module {
				continue
			}
			if err := t.put(&g, r, i); err != nil {
				return err
			}
		}
	}
	t.run.TimeMetric, t.run.TimeInclusive = t.time()
	return t.out.Put(&t.run)
}

func (t *table) put(g *datasets.Region, r tableRow, i int) error {
	col := t.columns[i]
	text := strings.TrimSpace(r.cells[i].text)
	if col.text {
		if text == "" {
			return nil
		}
		return t.out.Put(&datasets.Attribute{Run: runID, Region: g.ID, Name: col.name, Value: text})
	}
	v, unit, err := t.value(r, i)
	if err != nil {
		return err
	}
	number, suffix := splitUnit(text)
	if suffix == "" {
		suffix = col.unit
	}
	c := datasets.Counter{Run: runID, Region: g.ID, Metric: col.name, Value: v, Unit: unit, RawValue: number, RawUnit: suffix, Status: datasets.StatusOK}
	if !v.Valid {
		c.Status, c.RawValue = datasets.StatusNA, text
	}
	return t.out.Put(&c)
}

// time chooses the column that holds the time of a row.
func (t *table) time() (metric string, inclusive bool) {
	for _, want := range []struct {
		name      string
		inclusive bool
	}{{"CPU Time:Self", false}, {"CPU Time:Total", true}, {"CPU Time", strings.Contains(t.columns[0].name, "Stack") && t.columns[0].name != "Function Stack"},
		{"CPU Time:Effective Time:Self", false}, {"Clockticks:Self", false}, {"Total Time", false}, {"Task Time", false}, {"Clockticks", false}} {
		for _, c := range t.columns {
			if c.key == want.name && !c.text && c.unit != "%" {
				return c.name, want.inclusive
			}
		}
	}
	return "", false
}

// summary makes one region of a summary's rows: level, name, value.
func (t *table) summary() error {
	if len(t.columns) < 3 {
		e := t.in.Syntax(t.rows[0].line, 1, "the summary has too few columns")
		e.Expected = "Hierarchy Level, Metric Name and Metric Value"
		return e
	}
	for _, r := range t.rows {
		number, _ := splitUnit(r.cells[2].text)
		if collectors.StyleOf(number) == collectors.Comma && t.delim != "," && !strings.Contains(number, ".") {
			t.style = collectors.Comma
			break
		}
	}
	g := datasets.Region{ID: 1, Run: runID, Kind: datasets.KindRange, Raw: "Summary", Short: "Summary"}
	if err := t.out.Put(&g); err != nil {
		return err
	}
	machine := datasets.Machine{ID: machineID}
	seen := map[string]int{}
	var path []string
	for _, r := range t.rows {
		level, err := strconv.Atoi(strings.TrimSpace(r.cells[0].text))
		if err != nil || level < 0 || level > len(path) {
			e := t.in.Syntax(r.line, r.cells[0].column, "the row's level in the hierarchy is wrong")
			e.Expected, e.Found = "a number up to "+strconv.Itoa(len(path)), collectors.Quote(r.cells[0].text)
			return e
		}
		name, text := strings.TrimSpace(r.cells[1].text), strings.TrimSpace(r.cells[2].text)
		if name == "" {
			name = "?"
		}
		path = append(path[:level], name)
		if text == "" {
			continue
		}
		metric := strings.Join(path, ":")
		if err := t.fact(&g, &machine, metric, name, text, r, seen); err != nil {
			return err
		}
	}
	t.run.TimeMetric, t.run.TimeInclusive = "Elapsed Time", true
	if seen["Elapsed Time"] == 0 {
		t.run.TimeMetric, t.run.TimeInclusive = "", false
	}
	if machine.Host != "" || machine.CPU != "" {
		t.run.Machine = machineID
		if err := t.out.Put(&machine); err != nil {
			return err
		}
	}
	return t.out.Put(&t.run)
}

// fact makes a counter of a number, an attribute of anything else.
func (t *table) fact(g *datasets.Region, m *datasets.Machine, metric, name, text string, r tableRow, seen map[string]int) error {
	number, suffix := splitUnit(text)
	// A part of the text that is no number and no known unit: not measured.
	unit := suffix
	if unit == "" {
		unit = unitOf(name)
	}
	u := collectors.ParseUnit(unit)
	v, err := u.Scale(number, t.style)
	if err != nil || suffix != "" && len(suffix) > 8 || strings.HasSuffix(name, "Version") || strings.HasSuffix(name, "Name") || strings.HasSuffix(name, "time") {
		switch name {
		case "Application Command Line":
			t.run.Command = text
		case "Computer Name":
			m.Host = text
		case "Name":
			m.CPU = text
		}
		return t.out.Put(&datasets.Attribute{Run: runID, Name: metric, Value: text})
	}
	if name == "Logical CPU Count" && v > 0 && v < 1<<20 {
		m.Units = datasets.Some(int64(v))
	}
	c := datasets.Counter{Run: runID, Region: g.ID, Metric: metric, Value: datasets.Some(v), Unit: u.Base, RawValue: number, RawUnit: unit, Status: datasets.StatusOK}
	if seen[metric]++; seen[metric] > 1 {
		c.Instance = "#" + strconv.Itoa(seen[metric])
	}
	return t.out.Put(&c)
}
