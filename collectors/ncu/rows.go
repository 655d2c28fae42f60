package ncu

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func itoa(n int) string { return strconv.Itoa(n) }

// commandLine is the section of metrics that were asked for by name.
const commandLine = "Command line profiler metrics"

// longRow reads a row of one metric, or of one rule's finding.
func (p *parser) longRow(row []field, text string, line int) error {
	if p.table.summary() {
		return p.summaryRow(row, text, line)
	}
	end := p.table.at[colMetricValue] + 1
	for _, c := range []column{colMetricName, colMetricUnit, colKernel} {
		end = max(end, p.table.at[c]+1)
	}
	all := len(p.table.cells)
	if len(row) > all && !anyQuoted(row) {
		row = p.mend(text, line)
	}
	// Versions differ in how many of the rules' columns a row of a metric has:
	// none, one or all.
	if n := len(row); n < end || n > end+1 && n < all && p.text(row, colMetricName) != "" || n > all+5 {
		f := row[len(row)-1]
		e := p.in.Syntax(f.line, f.column, "the row has a wrong number of cells")
		e.Expected, e.Found = itoa(all)+" as in the header", itoa(len(row))
		e.Hint = "the row is cut, or a cell of it is missing: export the profile again"
		return e
	}
	metric, section := p.text(row, colMetricName), p.text(row, colSection)
	if metric == "" {
		return p.ruleRow(row)
	}
	for i := end; i < len(row); i++ {
		rule := i >= all
		for c := colRuleName; c <= colSpeedup; c++ {
			rule = rule || p.table.at[c] == i
		}
		if rule && row[i].text != "" {
			e := p.in.Syntax(row[i].line, row[i].column, "a cell after the value of "+metric)
			e.Expected, e.Found = "an empty one", collectors.Quote(row[i].text)
			e.Hint = "a cell of this row is missing, or a number lost its quotes: export the profile again"
			return e
		}
	}
	if p.numbers.unit(p.text(row, colMetricUnit)).isNumber {
		return p.bad(row, colMetricUnit, "the unit of "+metric+" is a number", "a unit")
	}
	l, err := p.launchOf(row, metric)
	if err != nil {
		return err
	}
	instance := section
	if section == commandLine {
		instance = ""
	}
	if p.page != "details" {
		p.page = "long"
		if instance != "" {
			p.page = "details"
		}
	}
	p.remember(row, text, l, instance)
	return p.numbers.counter(l, metric, instance, p.text(row, colMetricUnit), row[p.table.at[colMetricValue]])
}

// ruleRow reads the finding of a rule.
func (p *parser) ruleRow(row []field) error {
	cell := func(c column) string {
		if i := len(p.table.cells) + int(c-colRuleName); p.table.at[colRuleName] < 0 && i < len(row) {
			return strings.TrimSpace(row[i].text) // a header of before there were rules
		}
		return p.text(row, c)
	}
	rule := cell(colRuleName)
	if rule == "" {
		if p.text(row, colMetricValue) != "" || p.text(row, colMetricUnit) != "" {
			return p.bad(row, colMetricName, "a value without a metric", "the metric's name")
		}
		return nil // an empty row of a section that measured nothing
	}
	l, err := p.launchOf(row, "")
	if err != nil {
		return err
	}
	value := cell(colRuleText)
	if t := cell(colRuleType); t != "" {
		value = t + ": " + value
	}
	if s := cell(colSpeedup); s != "" {
		value += " (estimated speedup " + strings.TrimSpace(cell(colSpeedupType)+" "+s) + " %)"
	}
	return p.attribute(l, "rule "+rule, value)
}

func anyQuoted(row []field) bool {
	for i := range row {
		if row[i].quoted {
			return true
		}
	}
	return false
}

// mend cuts a row that lost its quotes: commas within brackets do not count,
// and groups of thousands at the end belong together.
func (p *parser) mend(text string, line int) []field {
	row := splitNested(text, p.table.sep, line)
	value := p.table.at[colMetricValue]
	if len(row) <= len(p.table.cells) || value != len(p.table.cells)-1 {
		return row
	}
	joined := row[value]
	for _, f := range row[value+1:] {
		joined.text += string(p.table.sep) + f.text
	}
	if s := collectors.StyleOf(joined.text); s == collectors.NotNumber {
		return row
	}
	return append(row[:value:value], joined)
}

// summaryRow reads a row of --print-summary: the values of a metric over all
// launches of a kernel. They are the region's, and no launch's.
func (p *parser) summaryRow(row []field, text string, line int) error {
	all := len(p.table.cells)
	if len(row) > all && !anyQuoted(row) {
		row = splitNested(text, p.table.sep, line)
	}
	if n := len(row); n != all {
		f := row[len(row)-1]
		e := p.in.Syntax(f.line, f.column, "the row has a wrong number of cells")
		e.Expected, e.Found = itoa(all)+" as in the header", itoa(n)
		e.Hint = "the row is cut, or a cell of it is missing: export the profile again"
		return e
	}
	kernel, metric, section := p.text(row, colKernel), p.text(row, colMetricName), p.text(row, colSection)
	if kernel == "" || metric == "" {
		return p.bad(row, colKernel, "a row without a kernel or a metric", "the names of both")
	}
	p.hostOf(row)
	p.page = "summary"
	key := strings.Join([]string{kernel, p.text(row, colPID), p.text(row, colBlock), p.text(row, colGrid)}, "\x00")
	l := p.launches[key]
	if l == nil {
		region, err := p.kernelRegion(kernel)
		if err != nil {
			return err
		}
		l = &launch{kernel: kernel, rec: datasets.Launch{Region: region}}
		p.launches[key] = l
		// A kernel that was launched with several sizes has rows for each: those
		// of all but the first say so in the instances of their counters.
		if p.shapes[region]++; p.shapes[region] > 1 {
			for _, part := range []struct {
				name string
				c    column
			}{{"block", colBlock}, {"grid", colGrid}, {"pid", colPID}} {
				if s := p.text(row, part.c); s != "" {
					l.shape += " " + part.name + "=" + strings.ReplaceAll(s, " ", "")
				}
			}
		}
		for _, c := range []column{colBlock, colGrid} {
			if s := p.text(row, c); s != "" {
				if err := p.attribute(l, p.table.cells[p.table.at[c]].text, s); err != nil {
					return err
				}
			}
		}
		if i := p.table.at[colInvocations]; i >= 0 {
			if err := p.numbers.counter(l, "Invocations", strings.TrimSpace(l.shape), "", row[i]); err != nil {
				return err
			}
		}
	}
	if section == commandLine {
		section = ""
	}
	for _, v := range []struct {
		c    column
		name string
	}{{colMinimum, "minimum"}, {colMaximum, "maximum"}, {colAverage, "average"}} {
		if i := p.table.at[v.c]; i >= 0 {
			if err := p.numbers.counter(l, metric, strings.TrimSpace(section+" "+v.name+l.shape), p.text(row, colMetricUnit), row[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// wideRow reads the row of units, then rows of one launch each.
func (p *parser) wideRow(row []field, text string, line int) error {
	all := len(p.table.cells)
	if len(row) > all && !anyQuoted(row) {
		row = splitNested(text, p.table.sep, line)
	}
	if n := len(row); n != all {
		f := row[len(row)-1]
		e := p.in.Syntax(f.line, f.column, "the row has a wrong number of cells")
		e.Expected, e.Found = itoa(all)+" as in the header", itoa(n)
		e.Hint = "the row is cut, or a cell of it is missing: export the profile again"
		return e
	}
	if p.units == nil {
		return p.unitRow(row)
	}
	l, err := p.launchOf(row, "")
	if err != nil {
		return err
	}
	p.page = "raw"
	for k, i := range p.table.metrics {
		if err := p.numbers.counter(l, p.table.cells[i].text, p.table.instances[k], p.units[i], row[i]); err != nil {
			return err
		}
	}
	return nil
}

// unitRow reads the second row of the raw page.
func (p *parser) unitRow(row []field) error {
	for _, c := range []column{colKernel, colID} {
		if p.text(row, c) != "" {
			e := p.bad(row, c, "the second row of the raw page has a value where the row of units has none", "an empty cell")
			e.Hint = "without its units a value means nothing: export the profile again, ncu --csv --page raw"
			return e
		}
	}
	p.units = make([]string, len(row))
	for i := range row {
		p.units[i] = strings.TrimSpace(row[i].text)
	}
	return nil
}
