package gobench

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const machineID = 1

type reader struct {
	in       *collectors.Input
	out      *collectors.Output
	run      datasets.Run
	machine  datasets.Machine
	config   []pair
	regions  map[[2]string]int64
	launches int64
	failures []string
	pieces   map[string]string // of lines, by package, where the input is JSON
	line     int
}

type pair struct{ key, value string }

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, regions: map[[2]string]int64{}, pieces: map[string]string{},
		run:     datasets.Run{ID: runID, Tool: "go test", Format: formatText, Status: datasets.RunOK},
		machine: datasets.Machine{ID: machineID}}
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		r.line = l.Number
		s := string(l.Text)
		if strings.HasPrefix(s, "{") && strings.Contains(s, `"Action"`) {
			err = r.event(s, l.Ended)
		} else {
			err = r.text(s, l.Ended)
		}
		if err != nil {
			return err
		}
		if !l.Ended {
			r.out.Warn(l.Number, len(s)+1, "the last line has no end: if the file was cut, benchmarks are missing")
		}
	}
	return r.finish()
}

// event reads a line of go test -json. Lines come in pieces: the name when a
// benchmark starts, the results when it ends.
func (r *reader) event(s string, ended bool) error {
	var e struct{ Action, Package, Output string }
	if err := json.Unmarshal([]byte(s), &e); err != nil {
		if !ended {
			return r.cut(len(s))
		}
		x := r.in.Syntax(r.line, 1, "")
		x.Msg, x.Expected, x.Found = collectors.JSONFault(err)
		x.Msg = "the line is no event of go test -json: " + x.Msg
		x.Hint = "the line is damaged: get the file again"
		return x
	}
	if e.Action != "output" {
		return nil
	}
	all := r.pieces[e.Package] + e.Output
	for {
		line, rest, whole := strings.Cut(all, "\n")
		if !whole {
			break
		}
		if e.Package != "" && r.value("pkg") != e.Package {
			r.set("pkg", e.Package) // packages run side by side
		}
		if err := r.text(strings.TrimSuffix(line, "\r"), true); err != nil {
			return err
		}
		all = rest
	}
	if len(all) > collectors.MaxLine {
		return r.in.Syntax(r.line, 1, "a line of output never ends")
	}
	r.pieces[e.Package] = all
	return nil
}

func (r *reader) cut(column int) error {
	return r.in.Cut(r.line, column, "if the file is whole, end it with a newline; else get it again")
}

var verdict = regexp.MustCompile(`^\s*--- (FAIL|SKIP): (Benchmark\S*)`)

func (r *reader) text(s string, ended bool) error {
	switch {
	case strings.HasPrefix(s, "Benchmark"):
		if !ended {
			return r.cut(len(s))
		}
		return r.result(s)
	case strings.HasPrefix(s, "Unit ") || strings.HasPrefix(s, "Unit\t"):
		if !ended {
			return r.cut(len(s))
		}
		return r.unit(strings.Fields(s)[1:])
	case strings.HasPrefix(s, "FAIL\t"), strings.HasPrefix(s, "panic: "):
		r.failures = append(r.failures, strings.Join(strings.Fields(s), " "))
		return nil
	}
	if m := verdict.FindStringSubmatch(s); m != nil {
		return r.verdict(strings.ToLower(m[1]), m[2])
	}
	if key, value, ok := keyValue(s); ok {
		if !ended {
			return r.cut(len(s))
		}
		r.set(key, value)
	}
	return nil
}

// keyValue reads "key: value": the key begins with a small letter and has
// neither capitals nor spaces.
func keyValue(s string) (key, value string, ok bool) {
	key, value, found := strings.Cut(s, ":")
	first, _ := utf8.DecodeRuneInString(key)
	if !found || !unicode.IsLower(first) {
		return "", "", false
	}
	for _, c := range key {
		if unicode.IsSpace(c) || unicode.IsUpper(c) {
			return "", "", false
		}
	}
	if value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false // "http://..."
	}
	return key, strings.TrimSpace(value), true
}

func (r *reader) value(key string) string {
	for _, c := range r.config {
		if c.key == key {
			return c.value
		}
	}
	return ""
}

// set puts a configuration into force; an empty one takes it out.
func (r *reader) set(key, value string) {
	for i := range r.config {
		if r.config[i].key == key {
			if value == "" {
				r.config = append(r.config[:i], r.config[i+1:]...)
			} else {
				r.config[i].value = value
			}
			return
		}
	}
	if value != "" {
		r.config = append(r.config, pair{key, value})
	}
	switch {
	case key == "cpu" && r.machine.CPU == "":
		r.machine.CPU = value
	case key == "goarch" && r.machine.Arch == "":
		r.machine.Arch = value
	}
}

// unit reads "Unit text-bytes assume=exact".
func (r *reader) unit(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	for _, f := range fields[1:] {
		key, value, ok := strings.Cut(f, "=")
		if !ok {
			r.out.Warn(r.line, 1, "the Unit line has %s, which is not KEY=VALUE", collectors.Quote(f))
			continue
		}
		if err := r.out.Put(&datasets.Attribute{Run: runID, Name: "unit " + fields[0] + " " + key, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// result reads "BenchmarkName-8  1000  12.5 ns/op  3 B/op".
func (r *reader) result(s string) error {
	fields := strings.Fields(s)
	name := fields[0]
	if len(fields) < 2 {
		return nil // a name whose results come in another line
	}
	iterations, _ := strconv.ParseInt(fields[1], 10, 64)
	if iterations <= 0 {
		return nil // something else was printed between name and results
	}
	values := fields[2:]
	if len(values) == 0 || len(values)%2 != 0 {
		r.out.Warn(r.line, 1, "the results of %s are no pairs of values and units: the line is left out", collectors.Quote(name))
		return nil
	}
	var counters []datasets.Counter
	for i := 0; i < len(values); i += 2 {
		c, ok := measure(values[i], values[i+1])
		if !ok {
			r.out.Warn(r.line, strings.Index(s, values[i])+1, "%s is no value of %s: the line is left out", collectors.Quote(values[i]), collectors.Quote(name))
			return nil
		}
		for _, d := range counters {
			if d.Metric == c.Metric {
				c.Instance = "#" + strconv.Itoa(i/2+1)
			}
		}
		counters = append(counters, c)
	}
	region, launch, err := r.launch(name)
	if err != nil {
		return err
	}
	all := append([]datasets.Counter{{Metric: "iterations", Value: datasets.Some(float64(iterations)), RawValue: fields[1], Status: datasets.StatusOK}}, counters...)
	for _, c := range all {
		c.Run, c.Region, c.Launch = runID, region, launch
		if c.Metric == "sec/op" && r.run.TimeMetric == "" {
			r.run.TimeMetric = c.Metric
		}
		if err := r.out.Put(&c); err != nil {
			return err
		}
	}
	return nil
}

// measure reads a value. Like Go's own tools it turns ns and MB at the
// beginning of a unit into seconds and bytes.
func measure(text, unit string) (datasets.Counter, bool) {
	c := datasets.Counter{Metric: unit, RawValue: text, RawUnit: unit, Status: datasets.StatusOK}
	exp := 0
	switch {
	case unit == "ns" || strings.HasPrefix(unit, "ns/"):
		c.Metric, exp = "sec"+unit[2:], -9
	case unit == "MB" || strings.HasPrefix(unit, "MB/"):
		c.Metric, exp = "B"+unit[2:], 6
	case strings.HasSuffix(unit, "-ns"):
		c.Metric, exp = strings.TrimSuffix(unit, "ns")+"sec", -9
	case strings.Contains(unit, "-ns/"):
		c.Metric, exp = strings.Replace(unit, "-ns/", "-sec/", 1), -9
	}
	c.Unit = base(c.Metric)
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan", "inf", "infinity":
		c.Status = datasets.StatusNA
		return c, true
	}
	if strings.ContainsAny(text, ",_' xXpP") {
		return c, false
	}
	v, err := collectors.ParseNumber(text, collectors.Dot, exp)
	c.Value = datasets.Some(v)
	return c, err == nil
}

// base returns the SI unit of a metric, which is named by its unit, maybe with
// what it is of before it: "p50-sec/op".
func base(metric string) string {
	num, den, ratio := strings.Cut(metric, "/")
	if i := strings.LastIndex(num, "-"); i >= 0 {
		num = num[i+1:]
	}
	switch num {
	case "sec":
		num = "s"
	case "B", "bytes":
		num = "byte"
	}
	if ratio {
		return num + "/" + den
	}
	return num
}

// verdict notes that a benchmark failed or was skipped.
func (r *reader) verdict(status, name string) error {
	region, launch, err := r.launch(name)
	if err != nil {
		return err
	}
	if status == "fail" {
		r.failures = append(r.failures, "--- FAIL: "+name)
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch, Name: "status", Value: status})
}

var gomaxprocs = regexp.MustCompile(`^(.+)-([0-9]+)$`)

// launch emits the launch of a benchmark, and its region where it is new.
func (r *reader) launch(name string) (region, launch int64, err error) {
	pkg := r.value("pkg")
	key := [2]string{pkg, name}
	region, known := r.regions[key]
	if !known {
		region = int64(len(r.regions) + 1)
		r.regions[key] = region
		short := strings.TrimPrefix(name, "Benchmark")
		procs := ""
		if m := gomaxprocs.FindStringSubmatch(short); m != nil {
			short, procs = m[1], m[2]
		}
		g := datasets.Region{ID: region, Run: runID, Kind: datasets.KindFunction, Raw: name, Short: short, Module: pkg}
		if short == "" {
			g.Short = name
		}
		if err := r.out.Put(&g); err != nil {
			return 0, 0, err
		}
		for i, part := range strings.Split(short, "/")[1:] {
			k, v, ok := strings.Cut(part, "=")
			if !ok || k == "" {
				k, v = "sub."+strconv.Itoa(i+1), part
			}
			if err := r.attribute(region, 0, k, v); err != nil {
				return 0, 0, err
			}
		}
		if err := r.attribute(region, 0, "gomaxprocs", procs); err != nil {
			return 0, 0, err
		}
	}
	r.launches++
	launch = r.launches
	if err := r.out.Put(&datasets.Launch{ID: launch, Run: runID, Region: region, Sequence: datasets.Some(launch - 1)}); err != nil {
		return 0, 0, err
	}
	for _, c := range r.config {
		if err := r.attribute(region, launch, c.key, c.value); err != nil {
			return 0, 0, err
		}
	}
	return region, launch, nil
}

func (r *reader) attribute(region, launch int64, name, value string) error {
	if value == "" {
		return nil
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch, Name: name, Value: value})
}

func (r *reader) finish() error {
	switch {
	case len(r.failures) > 0:
		r.run.Status, r.run.Error = datasets.RunFailed, strings.Join(r.failures[:min(len(r.failures), 20)], "; ")
	case r.launches == 0:
		r.run.Status, r.run.Error = datasets.RunEmpty, "the file holds no result of a benchmark"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	if r.machine.CPU != "" || r.machine.Arch != "" {
		r.run.Machine = machineID
		if err := r.out.Put(&r.machine); err != nil {
			return err
		}
	}
	return r.out.Put(&r.run)
}
