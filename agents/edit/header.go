package edit

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	evidenceID = regexp.MustCompile(`^[A-Za-z]{1,8}-?[0-9]{1,6}$`)
	remark     = regexp.MustCompile(`\([^()]*\)`)
)

// directions are the words that say which way a metric moves.
var directions = map[string]Direction{
	"up": Up, "increase": Up, "increases": Up, "higher": Up, "rise": Up, "rises": Up, "more": Up, "↑": Up,
	"down": Down, "decrease": Down, "decreases": Down, "lower": Down, "fall": Down, "falls": Down, "less": Down, "↓": Down,
}

// mostHeader is how many bytes the ids, the predictions and the reason of an edit
// take at most; what is more is not read.
const mostHeader = 4 << 10

// header reads a header line: its word and what follows the colon.
func (p *parser) header(m []string) {
	value := m[2]
	if len(value) > mostHeader {
		value = strings.ToValidUTF8(value[:mostHeader], "")
	}
	value = strings.TrimFunc(value, func(r rune) bool { return unicode.IsSpace(r) || r == '*' })
	switch strings.ToLower(m[1]) {
	case "file":
		if f := cleanPath(value); f != "" {
			p.file = f
		}
	case "evidence":
		p.begin()
		p.edit.cite(value)
	case "predict":
		p.begin()
		p.edit.predict(value)
	case "why":
		p.begin()
		if len(p.edit.Why)+1+len(value) <= mostHeader {
			p.edit.Why = strings.TrimSpace(p.edit.Why + " " + value)
		}
	}
}

// cite reads a list of ids: "R1, S3", "[R1] and S3 (stalls)". Prose after an id
// is not searched for more of them: FP64 would be one.
func (e *Edit) cite(list string) {
	list = strings.NewReplacer("[", " ", "]", " ", "`", " ", "*", " ", "\"", " ").Replace(remark.ReplaceAllString(list, " "))
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' }) {
		words := strings.Fields(item)
		for i, w := range words {
			id := strings.ToUpper(strings.Trim(w, ".:"))
			switch {
			case w == "and" || w == "&" || strings.EqualFold(w, "none"):
			case evidenceID.MatchString(id):
				if !slices.Contains(e.Evidence, id) && len(strings.Join(e.Evidence, ", "))+2+len(id) <= mostHeader {
					e.Evidence = append(e.Evidence, id)
				}
				continue
			default:
				e.ignore(strings.Join(words[i:], " "))
			}
			if w != "and" && w != "&" {
				break
			}
		}
	}
}

// predict reads a list of metrics with their directions: "time down, occupancy
// up (more warps)".
func (e *Edit) predict(list string) {
	for _, item := range predictions(list) {
		words := strings.Fields(item)
		at := len(words) - 1
		for at >= 0 && direction(words[at]) == "" {
			at--
		}
		metric := ""
		if at > 0 {
			metric = strings.Trim(strings.Join(words[:at], " "), " ,;`*\"':=>→-")
		}
		// A name that would be read as two is none.
		if metric == "" || len(predictions(metric+" down")) > 1 {
			if len(words) > 0 && !strings.EqualFold(strings.Join(words, " "), "none") {
				e.ignore(strings.Join(words, " "))
			}
			continue
		}
		p := Prediction{metric, direction(words[at])}
		if with := append(slices.Clone(e.Predictions), p); !slices.Contains(e.Predictions, p) && len(predictLine(with)) <= mostHeader {
			e.Predictions = with
		}
	}
}

// mostIgnored are kept of what a header says that is neither id nor prediction.
const mostIgnored = 20

func (e *Edit) ignore(text string) {
	if len(e.Ignored) < mostIgnored {
		e.Ignored = append(e.Ignored, text)
	}
}

// predictions splits a list at commas that have a blank or a direction beside
// them: names of perf's events have commas of their own.
func predictions(list string) []string {
	var out []string
	start := 0
	for i, r := range list {
		if r != ',' && r != ';' {
			continue
		}
		words := strings.Fields(list[start:i])
		if next := list[i+1:]; next == "" || strings.TrimLeftFunc(next, unicode.IsSpace) != next || len(words) > 0 && direction(words[len(words)-1]) != "" {
			out = append(out, list[start:i])
			start = i + 1
		}
	}
	return append(out, list[start:])
}

// direction is that of a word, "" for other words.
func direction(word string) Direction {
	return directions[strings.ToLower(strings.Trim(word, ".`*"))]
}
