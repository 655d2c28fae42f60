package smi

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/collectors"
)

const dcgmPrefix = "DCGM_FI_"

func detectExporter(h collectors.Head) collectors.Confidence {
	if h.HasLine(dcgmPrefix, "# HELP "+dcgmPrefix, "# TYPE "+dcgmPrefix) {
		return collectors.Certain
	}
	return collectors.No
}

var inUnit = regexp.MustCompile(`\(in ([A-Za-z%/]+)\)`)

// exporter reads the text that DCGM's exporter gives to Prometheus: a line per
// field and GPU, NAME{gpu="0",...} VALUE, with lines of comment that say what
// a field is. A file can hold several scrapes, one after the other.
func (l *log) exporter() error {
	units, kinds := map[string]collectors.Unit{}, map[string]string{}
	count := map[string]int64{}
	err := l.each(func(text string) error {
		if strings.TrimSpace(text) == "" || l.cut(text) {
			return nil
		}
		if rest, ok := strings.CutPrefix(text, "# "); ok {
			what, rest, _ := strings.Cut(rest, " ")
			name, about, _ := strings.Cut(rest, " ")
			if !strings.HasPrefix(name, dcgmPrefix) {
				return nil
			}
			if m := inUnit.FindStringSubmatch(about); what == "HELP" && m != nil {
				if u, ok := unitOf(m[1]); ok {
					units[strings.Clone(name)] = u
				}
			}
			if what == "TYPE" && strings.TrimSpace(about) == "counter" {
				kinds[strings.Clone(name)] = cumulative
			}
			return nil
		}
		if strings.HasPrefix(text, "#") {
			return nil
		}
		if !strings.HasPrefix(text, dcgmPrefix) {
			l.once("others", "metrics that are not of DCGM were left out: %s", collectors.Quote(text))
			return nil
		}
		return l.series(text, units, kinds, count)
	})
	if err != nil {
		return err
	}
	if l.r.Line == 0 {
		e := l.in.Syntax(1, 1, "the file is empty")
		e.Expected, e.Hint = `lines as DCGM_FI_DEV_SM_CLOCK{gpu="0"} 1410`, "take it from the exporter: curl HOST:9400/metrics > FILE"
		return e
	}
	return l.finish()
}

// series reads one line.
func (l *log) series(text string, units map[string]collectors.Unit, kinds map[string]string, count map[string]int64) error {
	name, labels, at, err := l.labels(text)
	if err != nil {
		return err
	}
	cells := words(text[at:], l.r.Line)
	for i := range cells {
		cells[i].Column += at
	}
	key := text[:at]
	if name == dcgmPrefix+"DEV_NAME" { // a text where a number belongs
		return nil
	}
	if len(cells) == 0 || len(cells) > 2 {
		e := l.in.Syntax(l.r.Line, at+1, "a metric has not one value behind its name, and at most a time")
		e.Expected, e.Found, e.Hint = "a number", collectors.Quote(strings.TrimSpace(text[at:])), "the file is damaged: take the scrape again, or remove the line"
		return e
	}
	e := entity{name: "gpu" + labels["gpu"]}
	if e.gpu, err = strconv.ParseInt(labels["gpu"], 10, 32); err != nil || e.gpu < 0 {
		x := l.in.Syntax(l.r.Line, len(name)+1, "a metric has no GPU")
		x.Expected, x.Found, x.Hint = `gpu="0" among its labels`, collectors.Quote(labels["gpu"]), "remove the line if it is not of a GPU"
		return x
	}
	if err := l.known(e, labels); err != nil {
		return err
	}
	if mig := labels["GPU_I_ID"]; mig != "" {
		e.name += ".mig" + mig
	}
	t := count[key] * 1e9
	count[strings.Clone(key)]++
	if len(cells) == 2 {
		ms, err := strconv.ParseInt(cells[1].Text, 10, 44)
		if err != nil {
			return l.r.Fault(cells[1], "the time of a metric is none", "ms since 1970")
		}
		t = ms * 1e6
		if err := l.begin(t, true, true); err != nil {
			return err
		}
	} else if t > 0 {
		l.once("time", "the scrapes have no times: they are taken as a second apart")
		if err := l.about("t_ns", "the number of the scrape, taken as a second apart: the file has no times"); err != nil {
			return err
		}
	}
	s, ok := fieldNamed(strings.TrimPrefix(name, dcgmPrefix), "")
	if !ok {
		s = sensor{"dcgm." + strings.ToLower(strings.TrimPrefix(name, dcgmPrefix)), units[name], kinds[name]}
		if s.kind == "" {
			s.kind = instant
		}
	}
	c := cells[0]
	c.Text = strings.TrimPrefix(c.Text, "+")
	if means, ok := blank(c.Text); ok {
		c.Text = "N/A, " + means
	}
	return l.readingOf(e, s, t, c)
}

// known puts what the labels say of a GPU.
func (l *log) known(e entity, labels map[string]string) error {
	if name := labels["modelName"]; name != "" {
		l.names[e.gpu] = name
		if l.machine.GPU == "" {
			l.machine.GPU = name
		}
	}
	if host := labels["Hostname"]; l.machine.Host == "" {
		l.machine.Host = host
	} else if host != "" && host != l.machine.Host { // both have a gpu0
		x := l.in.Syntax(l.r.Line, 1, "the file has scrapes of two hosts")
		x.Expected, x.Found, x.Hint = collectors.Quote(l.machine.Host), collectors.Quote(host), "import a file for each host"
		return x
	}
	if l.machine.Driver == "" {
		l.machine.Driver = labels["DCGM_FI_DRIVER_VERSION"]
	}
	for _, a := range [...]struct{ label, name string }{{"modelName", "name"}, {"UUID", "uuid"}, {"pod", "pod"}, {"container", "container"}, {"GPU_I_PROFILE", "mig.profile"}} {
		if err := l.about(e.name+"."+a.name, labels[a.label]); err != nil {
			return err
		}
	}
	return nil
}

// labels reads NAME{label="value",...}, and returns where it ends.
func (l *log) labels(text string) (name string, labels map[string]string, end int, err error) {
	broken := func(at int, expected string) error {
		e := l.in.Syntax(l.r.Line, at+1, "the labels of a metric are broken")
		e.Expected, e.Found, e.Hint = expected, collectors.Quote(text[at:]), "the file is damaged: take the scrape again, or remove the line"
		return e
	}
	labels = map[string]string{}
	open := strings.IndexAny(text, "{ \t")
	if open < 0 {
		return text, labels, len(text), nil
	}
	name = text[:open]
	if text[open] != '{' {
		return name, labels, open, nil
	}
	at := open + 1
	for {
		for at < len(text) && (text[at] == ' ' || text[at] == ',') {
			at++
		}
		if at < len(text) && text[at] == '}' {
			return name, labels, at + 1, nil
		}
		eq := strings.IndexByte(text[at:], '=')
		if eq <= 0 {
			return "", nil, 0, broken(at, `a label as gpu="0", or "}"`)
		}
		label := text[at : at+eq]
		at += eq + 1
		quoted, err := strconv.QuotedPrefix(text[at:])
		if err != nil || quoted[0] != '"' {
			return "", nil, 0, broken(at, "a value in quotes")
		}
		value, err := strconv.Unquote(quoted)
		if err != nil || !utf8.ValidString(value) {
			return "", nil, 0, broken(at, "a value in quotes")
		}
		labels[label] = value
		at += len(quoted)
	}
}
