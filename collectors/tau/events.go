package tau

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// rest reads what follows the timers: aggregates and user events.
func (p *parser) rest() error {
	seen := false
	for {
		text, line, ended, err := p.in.Line()
		if errors.Is(err, io.EOF) {
			if !seen {
				e := p.in.Syntax(p.line+1, 1, "the file ends after the timers")
				e.Expected, e.Hint = `"COUNT aggregates"`, "the file is cut: get it again"
				return e
			}
			return nil
		}
		if err != nil {
			return err
		}
		p.line = line
		t := strings.ToValidUTF8(string(text), "\uFFFD")
		if strings.TrimSpace(t) == "" || strings.HasPrefix(t, "#") {
			continue
		}
		m := counts.FindStringSubmatch(t)
		if m == nil || !ended {
			e := p.in.Syntax(line, 1, "reading what follows the timers")
			e.Expected, e.Found = `"COUNT aggregates" or "COUNT userevents"`, collectors.Quote(t)
			e.Hint = "the number of timers or events before is wrong, or the file is cut: get it again"
			return e
		}
		seen = true
		n, _ := strconv.Atoi(m[1]) // nine digits
		for i := 0; i < n; i++ {
			if i%1024 == 0 && p.ctx.Err() != nil {
				return fmt.Errorf("reading %s: %w", p.in.Name, p.ctx.Err())
			}
			t, err := p.next(fmt.Sprintf("line %d of %d %s", i+1, n, m[2]))
			if err != nil {
				return err
			}
			if strings.HasPrefix(t, "#") {
				i--
				continue
			}
			if m[2] == "aggregates" {
				if i == 0 {
					p.out.Warn(p.line, 1, "the %d aggregates are not read", n)
				}
				continue
			}
			if err := p.event(t, i, n); err != nil {
				return err
			}
		}
	}
}

var eventColumns = [5]string{"numevents", "max", "min", "mean", "sumsqr"}

// event reads one user event.
func (p *parser) event(text string, i, n int) error {
	m := eventLine.FindStringSubmatchIndex(text)
	if m == nil {
		e := p.in.Syntax(p.line, 1, fmt.Sprintf("reading user event %d of %d", i+1, n))
		e.Expected, e.Found = `"NAME" NUMEVENTS MAX MIN MEAN SUMSQR`, collectors.Quote(text)
		e.Hint = "the line is damaged: get the file again"
		return e
	}
	name := text[m[2]:m[3]]
	var values [5]string
	for k := range values {
		values[k] = text[m[4+2*k]:m[5+2*k]]
		if _, err := number(values[k]); err != nil {
			e := p.in.Syntax(p.line, m[4+2*k]+1, "a value of user event "+collectors.Quote(name)+" is no number")
			e.Found, e.Hint = collectors.Quote(values[k]), "the line is damaged: get the file again"
			return e
		}
	}
	// The root is the first timer, which TAU writes first.
	path := []string{"(no timer)"}
	if len(p.timers) > 0 {
		path = p.timers[0].path[:1]
	}
	metric := strings.TrimSpace(name)
	if event, where, ok := strings.Cut(metric, " : "); ok {
		metric, path = strings.TrimSpace(event), split(where)
	}
	if metric == "" {
		metric = "(unnamed)"
	}
	l := p.launch(p.region(path))
	if err := p.out.Put(&l); err != nil {
		return err
	}
	unit := ""
	if u := inName.FindStringSubmatch(metric); u != nil {
		switch collectors.ParseUnit(u[1]).Base {
		case "byte", "s", "byte/s", "Hz", "%":
			unit = u[1]
		}
	}
	for k, column := range eventColumns {
		u := unit
		if column == "numevents" || column == "sumsqr" {
			u = ""
		}
		if err := p.counter(l, metric, column, values[k], u); err != nil {
			return err
		}
	}
	return nil
}

var (
	inName   = regexp.MustCompile(`[(<]([^()<>]+)[)>]`)
	location = regexp.MustCompile(` \[\{(.*?)\} ?\{([^{}]*)\}(?:-\{([^{}]*)\})?\]$`)
	label    = regexp.MustCompile(`^\[(SAMPLE|SUMMARY|UNWIND|CONTEXT|INTERMEDIATE)\] `)
)

// shorten takes from a timer's name what TAU adds to that of the function: a
// label before it, the place in the source behind it.
func shorten(name string) (short string, facts [][2]string) {
	short = name
	if m := location.FindStringSubmatch(short); m != nil {
		short = short[:len(short)-len(m[0])]
		if m[1] != "" {
			facts = append(facts, [2]string{"file", m[1]})
		}
		for i, what := range [2]string{"line", "end line"} {
			if line, _, _ := strings.Cut(m[2+i], ","); line != "" {
				facts = append(facts, [2]string{what, line})
			}
		}
	} else if i := strings.Index(short, " [{"); i > 0 {
		short = short[:i]
	}
	if m := label.FindStringSubmatch(short); m != nil {
		facts = append(facts, [2]string{"label", m[1]})
		short = short[len(m[0]):]
		if _, function, ok := strings.Cut(short, " [@] "); ok {
			short = function
		}
	}
	if strings.HasPrefix(short, ".TAU") {
		return short, facts
	}
	short = strings.TrimSuffix(strings.TrimSpace(short), " C")
	if strings.HasPrefix(short, "Loop:") || strings.HasPrefix(short, "<") {
		return short, facts
	}
	if short = collectors.ShortName(short); short == "" {
		short = name
	}
	return short, facts
}

// finish emits regions, machine and run.
func (p *parser) finish(timers int) error {
	for i := range p.list {
		if err := p.out.Put(&p.list[i]); err != nil {
			return err
		}
	}
	for _, f := range p.facts {
		a := datasets.Attribute{Run: runID, Name: f[1], Value: f[2]}
		if f[0] != "" {
			a.Region, _ = strconv.ParseInt(f[0], 10, 64) // written by region
		}
		if err := p.out.Put(&a); err != nil {
			return err
		}
	}
	p.run.FormatVersion = "profile"
	if p.unit == "us" {
		p.run.TimeMetric, p.run.TimeInclusive = p.metric+" inclusive", true
	}
	if err := p.out.Put(&datasets.Attribute{Run: runID, Name: "metric", Value: p.metric}); err != nil {
		return err
	}
	if timers == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the profile holds no timer"
		p.out.Warn(0, 0, "%s", p.run.Error)
	}
	if p.machine.Host != "" || p.machine.CPU != "" {
		p.run.Machine = machineID
		if err := p.out.Put(&p.machine); err != nil {
			return err
		}
	}
	return p.out.Put(&p.run)
}
