package perfstat

import (
	"encoding/json"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

type jsonReader struct {
	*reader
	styled bool
}

// member is a key of an object with its value's text.
type member struct {
	key, value string
	text       bool // the value was in quotes
	column     int
}

// members reads a flat object. perf writes its numbers as the locale has them
// (100,00), which is no JSON, so that a number ends at a comma that a key
// follows.
func (r *reader) members(s string, line int) ([]member, error) {
	fail := func(at int, msg, expected string) ([]member, error) {
		e := r.in.Syntax(line, at+1, msg)
		e.Expected, e.Hint = expected, "the line is damaged: measure again"
		if at < len(s) {
			e.Found = collectors.Quote(s[at:])
		}
		return nil, e
	}
	var ms []member
	i := skip(s, 1) // after the brace
	if i < len(s) && s[i] == '}' {
		return nil, nil
	}
	for {
		key, next, ok := quoted(s, i)
		if !ok {
			return fail(i, "the object has no key here", `a key in quotes`)
		}
		i = skip(s, next)
		if i >= len(s) || s[i] != ':' {
			return fail(i, "the key has no value", `":"`)
		}
		i = skip(s, i+1)
		m := member{key: key, column: i + 1}
		if i < len(s) && s[i] == '"' {
			if m.value, next, ok = quoted(s, i); !ok {
				return fail(i, "the text has no end", `a text in quotes`)
			}
			m.text, i = true, skip(s, next)
		} else {
			end := i
			for end < len(s) && s[end] != '}' {
				if s[end] == ',' && skip(s, end+1) < len(s) && s[skip(s, end+1)] == '"' {
					break
				}
				end++
			}
			m.value = strings.TrimSpace(s[i:end])
			if m.value == "" || strings.ContainsAny(m.value, "{[\"") {
				return fail(i, "the value is neither a number nor a text", "a number or a text")
			}
			i = end
		}
		ms = append(ms, m)
		switch {
		case i < len(s) && s[i] == ',':
			i = skip(s, i+1)
		case i < len(s) && s[i] == '}':
			return ms, nil
		default:
			return fail(min(i, len(s)), "the object has no end", `"," or "}"`)
		}
	}
}

func skip(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// quoted reads a JSON string at i and returns where it ends.
func quoted(s string, i int) (text string, next int, ok bool) {
	if i >= len(s) || s[i] != '"' {
		return "", i, false
	}
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '"':
			if err := json.Unmarshal([]byte(s[i:j+1]), &text); err != nil {
				return "", i, false
			}
			return text, j + 1, true
		}
	}
	return "", i, false
}

// parts are the keys that name a part of the machine.
var parts = map[string]bool{"cpu": true, "core": true, "cluster": true, "cache": true, "die": true, "socket": true, "node": true, "thread": true}

func (j *jsonReader) line(text string, line int, ended bool) error {
	if text[0] != '{' {
		if !ended {
			return j.cut(line, len(text))
		}
		j.note("noise", line, 1, "the line is left out, it is not perf's: %s", collectors.Quote(text))
		return nil
	}
	if !ended && !strings.HasSuffix(text, "}") {
		return j.cut(line, len(text))
	}
	ms, err := j.members(text, line)
	if err != nil {
		return err
	}
	if len(ms) == 0 {
		return nil
	}
	w := row{line: line, column: 1}
	known := false
	for _, m := range ms {
		switch m.key {
		case "interval":
			// Printed as a number with nine decimals, by perf as of the locale.
			w.interval = strings.Replace(m.value, ",", ".", 1)
		case "aggregate-number", "counters":
			w.cpus = m.value
		case "cgroup":
			w.cgroup = m.value
		case "counter-value":
			w.value, w.column, known = m.value, m.column, true
		case "unit":
			w.unit = m.value
		case "event":
			w.event = m.value
		case "variance":
			w.variance = m.value
		case "event-runtime":
			w.runtime = m.value
		case "pcnt-running":
			w.percent = m.value
			if s := collectors.StyleOf(m.value); !j.styled && (s == collectors.Dot || s == collectors.Comma) {
				j.style, j.styled = s, true
			}
		case "metric-value":
			w.metric, w.metricColumn = m.value, m.column
		case "metric-unit":
			w.metricUnit = strings.TrimSpace(m.value)
		case "metricgroup":
			w.heading = m.value
		case "metric-threshold":
		default:
			if parts[m.key] {
				w.partKind, w.part = m.key, m.value
				continue
			}
			j.note("key "+m.key, line, m.column, "the member %s is not known here and left out", collectors.Quote(m.key))
		}
	}
	if w.heading != "" && !known && w.metricUnit == "" {
		return j.add(w)
	}
	w.heading = ""
	if !known && w.metricUnit != "" && w.event == "" {
		w.onlyMetric, known = true, true
	}
	if !known || w.event == "" && !w.onlyMetric {
		e := j.in.Syntax(line, 1, "the object is no count of an event")
		e.Expected, e.Found = `"counter-value" and "event"`, collectors.Quote(text)
		e.Hint = "measure again without --metric-only"
		return e
	}
	return j.add(w)
}
