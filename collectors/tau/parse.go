package tau

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

type parser struct {
	ctx      context.Context
	in       *collectors.Input
	out      *collectors.Output
	run      datasets.Run
	machine  datasets.Machine
	metric   string
	unit     string // of the metric
	who      datasets.Launch
	line     int
	timers   []timer
	regions  map[pathKey]int64
	list     []datasets.Region
	launches int64
	facts    [][3]string // of regions: id, name, value
}

type pathKey struct {
	parent int64
	name   string
}

// timer is one line of a file's first part.
type timer struct {
	name   string
	path   []string
	values [5]string
	groups string
}

var (
	timerLine = regexp.MustCompile(`^"(.*)" (\S+) (\S+) (\S+) (\S+) (\S+) (?:GROUP=)?"(.*)"\s*$`)
	eventLine = regexp.MustCompile(`^"(.*)" (\S+) (\S+) (\S+) (\S+) (\S+)\s*$`)
	counts    = regexp.MustCompile(`^(\d{1,9}) (aggregates|userevents)\s*$`)
	fileName  = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)$`)
)

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	p := &parser{ctx: ctx, in: in, out: out, regions: map[pathKey]int64{}, machine: datasets.Machine{ID: machineID},
		run: datasets.Run{ID: runID, Tool: "tau", Format: "tau", Status: datasets.RunOK}}
	text, err := p.next("the number of timers")
	if err != nil {
		return err
	}
	m := first.FindStringSubmatch(text)
	if m == nil {
		e := in.Syntax(1, 1, "this is no profile of TAU")
		e.Expected, e.Found = `"COUNT templated_functions"`, collectors.Quote(text)
		return e
	}
	n, _ := strconv.Atoi(m[1]) // nine digits
	p.metric = strings.TrimSpace(m[2])
	if err := p.header(); err != nil {
		return err
	}
	if p.metric == "" {
		p.metric = "TIME" // the metric of files from before there were several
	}
	if up := strings.ToUpper(p.metric); strings.Contains(up, "TIME") || up == "GET_TIME_OF_DAY" {
		p.unit = "us" // TAU writes times in microseconds
	}
	p.identity()
	for i := range n {
		if err := p.timer(i, n); err != nil {
			return err
		}
	}
	if err := p.emit(); err != nil {
		return err
	}
	if err := p.rest(); err != nil {
		return err
	}
	return p.finish(n)
}

// next returns the next line.
func (p *parser) next(what string) (string, error) {
	text, line, ended, err := p.in.Line()
	if errors.Is(err, io.EOF) {
		e := p.in.Syntax(p.line+1, 1, "the file ends too soon")
		e.Expected, e.Hint = what, "the file is cut: get it again"
		return "", e
	}
	if err != nil {
		return "", err
	}
	p.line = line
	if !ended {
		return "", p.in.Cut(line, len(text), "if the file is whole, end it with a newline; else get it again")
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// maxMetadata is how long the metadata may be.
const maxMetadata = 64 << 20

// header reads the second line, whose metadata may go on over several.
func (p *parser) header() error {
	text, err := p.next("the line of column names")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(text, "#") {
		e := p.in.Syntax(p.line, 1, "reading the line of column names")
		e.Expected, e.Found = `"# Name Calls Subrs Excl Incl ProfileCalls"`, collectors.Quote(text)
		return e
	}
	columns, _, _ := strings.Cut(strings.TrimPrefix(text, "#"), "#")
	if got := strings.Fields(columns); len(got) < 5 || got[0] != "Name" || got[1] != "Calls" || got[2] != "Subrs" || got[3] != "Excl" || got[4] != "Incl" {
		return &collectors.UnsupportedError{File: p.in.Name, What: "a profile of TAU with other columns, " + collectors.Quote(strings.TrimSpace(columns)),
			Hint: "rooflab reads Name Calls Subrs Excl Incl ProfileCalls: pack it and convert it with TAU's own tools"}
	}
	line := p.line
	i := strings.Index(text, "<metadata>")
	if i < 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString(text[i:])
	for !strings.Contains(text, "</metadata>") {
		if text, err = p.next("</metadata>"); err != nil {
			return err
		}
		if b.Len()+len(text) > maxMetadata {
			return p.in.Syntax(p.line, 1, "the metadata have no end")
		}
		b.WriteByte('\n')
		b.WriteString(text)
	}
	return p.metadata(b.String(), line)
}

// metadata reads facts about the run.
func (p *parser) metadata(text string, line int) error {
	var data struct {
		Attributes []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"attribute"`
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	if err := d.Decode(&data); err != nil {
		p.out.Warn(line, strings.Index(text, "<")+1, "the metadata are no XML, and left out: %v", err)
		return nil
	}
	for _, a := range data.Attributes {
		name, value := strings.TrimSpace(a.Name), strings.TrimSpace(a.Value)
		if name == "" {
			continue
		}
		switch name {
		case "Metric Name":
			if p.metric == "" {
				p.metric = value
			}
		case "TAU Version":
			p.run.ToolVersion = value
		case "Command Line":
			p.run.Command = value
		case "Hostname":
			p.machine.Host = value
		case "CPU Type":
			p.machine.CPU = value
		case "CPU Cores":
			p.machine.Units = integer(value)
		case "CPU MHz":
			if hz, err := collectors.ParseUnit("MHz").Scale(value, collectors.Dot); err == nil {
				p.machine.ClockHz = datasets.Some(hz)
			}
		case "Memory Size":
			p.machine.MemBytes = memory(value)
		case "pid":
			p.who.PID = integer(value)
		case "Starting Timestamp":
			if us, err := strconv.ParseInt(value, 10, 64); err == nil && us > 0 && us < 1<<52 {
				p.run.Started = datasets.Some(time.UnixMicro(us).UTC())
			}
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

func integer(s string) datasets.Null[int64] {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return datasets.Null[int64]{V: n, Valid: err == nil}
}

// memory reads "65924712 kB", where Linux means 1024 bytes.
func memory(s string) datasets.Null[int64] {
	number, unit, _ := strings.Cut(strings.TrimSpace(s), " ")
	n := integer(number)
	if unit != "kB" || n.V < 0 || n.V > 1<<50 {
		return datasets.Null[int64]{}
	}
	n.V <<= 10
	return n
}

// identity takes node and thread from the file's name.
func (p *parser) identity() {
	m := fileName.FindStringSubmatch(strings.TrimSuffix(filepath.Base(p.in.Name), ".gz"))
	if m == nil {
		p.out.Warn(0, 0, "the file's name does not end with NODE.CONTEXT.THREAD: its rank and thread are unknown")
		return
	}
	p.who.Rank, p.who.Thread = integer(m[1]), integer(m[3])
	p.facts = append(p.facts, [3]string{"", "context", m[2]})
}

// timer reads one line of a timer.
func (p *parser) timer(i, n int) error {
	if i%1024 == 0 && p.ctx.Err() != nil {
		return fmt.Errorf("reading %s: %w", p.in.Name, p.ctx.Err())
	}
	text, err := p.next(fmt.Sprintf("timer %d of %d", i+1, n))
	if err != nil {
		return err
	}
	m := timerLine.FindStringSubmatchIndex(text)
	if m == nil {
		e := p.in.Syntax(p.line, 1, fmt.Sprintf("reading timer %d of %d", i+1, n))
		e.Expected, e.Found = `"NAME" CALLS SUBRS EXCL INCL PROFILECALLS GROUP="..."`, collectors.Quote(text)
		e.Hint = "the line is damaged: get the file again"
		return e
	}
	t := timer{name: text[m[2]:m[3]], groups: text[m[14]:m[15]]}
	for k := range t.values {
		t.values[k] = text[m[4+2*k]:m[5+2*k]]
		if _, err := number(t.values[k]); err != nil {
			e := p.in.Syntax(p.line, m[4+2*k]+1, "a value of timer "+collectors.Quote(t.name)+" is no number")
			e.Found, e.Hint = collectors.Quote(t.values[k]), "the line is damaged: get the file again"
			return e
		}
	}
	t.path = split(t.name)
	p.timers = append(p.timers, t)
	return nil
}

// number accepts what printf writes.
func number(s string) (float64, error) {
	if strings.ContainsAny(s, "_xXpP") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// split cuts a call path; TAU pads names with spaces.
func split(name string) []string {
	parts := strings.Split(name, "=>")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// region returns the region of a path.
func (p *parser) region(path []string) int64 {
	parent := int64(0)
	for _, name := range path {
		key := pathKey{parent, name}
		id, ok := p.regions[key]
		if !ok {
			id = int64(len(p.list) + 1)
			p.regions[key] = id
			g := datasets.Region{ID: id, Run: runID, Parent: parent, Kind: datasets.KindFunction, Raw: name, Order: datasets.Some(id - 1)}
			var facts [][2]string
			g.Short, facts = shorten(name)
			for _, f := range facts {
				p.facts = append(p.facts, [3]string{strconv.FormatInt(id, 10), f[0], f[1]})
			}
			if strings.HasPrefix(name, ".TAU application") || strings.HasPrefix(name, "[CONTEXT]") {
				g.Kind = datasets.KindRange
			}
			p.list = append(p.list, g)
		}
		parent = id
	}
	return parent
}

// kind refines the kind of a region by the groups of its timer.
func (p *parser) kind(region int64, t timer) {
	g := &p.list[region-1]
	for _, group := range strings.FieldsFunc(t.groups, func(r rune) bool { return r == '|' || r == ' ' }) {
		switch {
		case strings.Contains(group, "KERNEL"), group == "TAU_GPU" && !strings.Contains(t.name, "Memcpy"):
			g.Kind = datasets.KindKernel
		case strings.Contains(group, "LOOP"):
			g.Kind = datasets.KindLoop
		case strings.Contains(group, "PHASE"), group == "TAU_USER" && g.Kind == datasets.KindFunction && !strings.Contains(g.Raw, "("):
			g.Kind = datasets.KindRange
		}
	}
	if strings.HasPrefix(g.Raw, "Loop:") {
		g.Kind = datasets.KindLoop
	}
}

// emit puts launches and counters of the timers.
func (p *parser) emit() error {
	heads := map[string]bool{} // timers that begin a path
	for _, t := range p.timers {
		if len(t.path) > 1 {
			heads[t.path[0]] = true
		}
	}
	for _, t := range p.timers {
		prefix := ""
		if len(t.path) == 1 && len(heads) > 0 && !heads[t.path[0]] {
			prefix = "flat "
		}
		region := p.region(t.path)
		p.kind(region, t)
		if t.groups != "" {
			p.facts = append(p.facts, [3]string{strconv.FormatInt(region, 10), "group", t.groups})
		}
		l := p.launch(region)
		u := collectors.ParseUnit(p.unit)
		if p.unit == "us" {
			if s, err := u.Scale(t.values[3], collectors.Dot); err == nil && s >= 0 && s < 9e9 {
				l.DurNs = datasets.Some(int64(math.Round(s * 1e9)))
			}
		}
		if err := p.out.Put(&l); err != nil {
			return err
		}
		for i, name := range [5]string{"calls", "subroutines", p.metric + " exclusive", p.metric + " inclusive", "profile calls"} {
			unit := ""
			if i == 2 || i == 3 {
				unit = p.unit
			}
			name = prefix + name
			// Samples are of the time that the timer above has as its own.
			if i == 2 && len(t.path) > 1 && (strings.Contains(t.groups, "TAU_SAMPLE") || strings.Contains(t.groups, "TAU_UNWIND")) {
				name = "sampled " + name
			}
			if err := p.counter(l, name, "", t.values[i], unit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) launch(region int64) datasets.Launch {
	p.launches++
	l := p.who
	l.ID, l.Run, l.Region, l.Sequence = p.launches, runID, region, datasets.Some(p.launches-1)
	return l
}

func (p *parser) counter(l datasets.Launch, metric, instance, text, unit string) error {
	u := collectors.ParseUnit(unit)
	c := datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: metric, Instance: instance, Unit: u.Base, RawValue: text, RawUnit: unit, Status: datasets.StatusNA}
	if v, err := number(text); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		if v, err = u.Scale(text, collectors.Dot); err == nil {
			c.Value, c.Status = datasets.Some(v), datasets.StatusOK
		}
	}
	return p.out.Put(&c)
}
