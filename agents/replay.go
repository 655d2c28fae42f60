package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/search"
)

// Recorded is an answer that was given before.
type Recorded struct {
	Name   string `json:"name"`   // "" is "answer N", by its place in the round
	Round  int    `json:"round"`  // 0 is 1
	Repair int    `json:"repair"` // it repairs the answer of the same name and round; 0 is that answer itself
	Base   string `json:"base"`   // the id of the program that it is about, where the round has several; "" is each of them
	Answer string `json:"answer"`
}

// Replay is an advisor that gives recorded answers, whatever the case. path is
// a file with a Recorded in JSON on each line, or a folder of texts: NAME.txt is
// an answer of the first round, roundN-NAME.txt one of another, NAME.repairK.txt
// repairs NAME; or the folder of a run, whose answers are given again, whoever gave
// them, in the rounds that they were given in, and where such a round went on from
// several programs, for the program that they were given for.
func Replay(path string) (Advisor, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading recorded answers: %w", err)
	}
	var list []Recorded
	_, missing := os.Stat(filepath.Join(path, "journal.jsonl"))
	switch {
	case !info.IsDir():
		list, err = readLines(path)
	case missing == nil:
		list, err = readRun(filepath.Join(path, "journal.jsonl"))
	default:
		list, err = readFolder(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading recorded answers: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("reading recorded answers: %s holds none: name a file of JSON lines, a folder of .txt files, or that of a run", path)
	}
	return Answers("replay:"+filepath.Base(path), list)
}

// Answers is an advisor that gives answers of a list.
func Answers(name string, list []Recorded) (Advisor, error) {
	r := &replay{name: name}
	seen, some := map[string]bool{}, map[string]bool{}
	count := map[int]int{}
	for _, a := range list {
		if a.Round == 0 {
			a.Round = 1
		}
		if a.Round < 1 || a.Repair < 0 {
			return nil, fmt.Errorf("the recorded answer %q is of round %d, repair %d: both count from 1", a.Name, a.Round, a.Repair)
		}
		if a.Name == "" {
			if a.Repair > 0 {
				return nil, errors.New("a recorded answer that repairs another has no name: give it that of the other one")
			}
			a.Name = answerName(count[a.Round])
		}
		if a.Repair == 0 {
			count[a.Round]++
		}
		if len(a.Name) > 200 || strings.ContainsFunc(a.Name, edit.Unseen) {
			return nil, fmt.Errorf("the recorded answer %.200q has a name that is long or has characters that cannot be seen: names are for tables", a.Name)
		}
		if len(a.Base) > 200 || strings.ContainsFunc(a.Base, edit.Unseen) {
			return nil, fmt.Errorf("the recorded answer %q is about the program %.200q, which is no id of a program", a.Name, a.Base)
		}
		// One that is about each program meets those about any.
		key := fmt.Sprint(a.Round, a.Repair, a.Name)
		about := key + "\x00" + a.Base
		if seen[about] || seen[key+"\x00"] || a.Base == "" && some[key] {
			return nil, fmt.Errorf("two recorded answers of round %d are called %q: name them apart", a.Round, a.Name)
		}
		seen[about], some[key] = true, true
		r.list = append(r.list, a)
	}
	return r, nil
}

func answerName(i int) string { return "answer " + strconv.Itoa(i+1) }

type replay struct {
	name string
	list []Recorded
}

func (r *replay) Name() string { return r.name }

func (r *replay) Advise(_ context.Context, c Case) (Advice, error) {
	out := Advice{Supplied: Supplied(c.Report)}
	var others []string
	for _, a := range r.list {
		switch {
		case a.Round != c.Round || a.Repair != c.Repair || c.Repair > 0 && a.Name != c.Of:
		case a.Base == "" || a.Base == c.Base:
			out.Proposals = append(out.Proposals, Read(a.Name, a.Answer, c.Sources))
		case !slices.Contains(others, a.Base) && len(others) < search.MaxWidth:
			others = append(others, a.Base)
		}
	}
	if len(out.Proposals) == 0 && len(others) > 0 && c.Repair == 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("no answer to %s is on record: those of round %d are about %s", c.Base, c.Round, strings.Join(others, ", ")))
	}
	return out, nil
}

func readLines(path string) ([]Recorded, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []Recorded
	n := 0
	for line := range bytes.Lines(data) {
		if n++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var a Recorded
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil {
			return nil, fmt.Errorf(`%s:%d: %w: each line is like {"round": 1, "answer": "..."}`, path, n, err)
		}
		out = append(out, a)
	}
	return out, nil
}

var answerFile = regexp.MustCompile(`^(?:round([1-9][0-9]{0,3})-)?(.+?)(?:\.repair([1-9][0-9]{0,3}))?\.txt$`)

func readFolder(dir string) ([]Recorded, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []Recorded
	for _, e := range entries {
		m := answerFile.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		round, _ := strconv.Atoi(m[1])
		repair, _ := strconv.Atoi(m[3])
		out = append(out, Recorded{Name: m[2], Round: round, Repair: repair, Answer: string(text)})
	}
	slices.SortStableFunc(out, func(a, b Recorded) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

var adviceStep = regexp.MustCompile(`^r([1-9][0-9]{0,3})/(?:advice|(.+)/repair([1-9][0-9]{0,3}))$`)

// readRun reads the answers of a run out of its journal. Those of the rules are
// written as edits are.
func readRun(path string) ([]Recorded, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []Recorded
	turns := map[int]string{} // the turn of a round that came first
	several := map[int]bool{} // rounds that had more, as the search went on from several programs
	n := 0
	for line := range bytes.Lines(data) {
		n++
		var e entry
		if line[len(line)-1] != '\n' {
			break // cut when the process ended
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s:%d: not a line of a journal: %w", path, n, err)
		}
		m := adviceStep.FindStringSubmatch(e.Step)
		if m == nil || e.Begin {
			continue
		}
		var a Advice
		if err := json.Unmarshal(e.Value, &a); err != nil {
			return nil, fmt.Errorf("%s:%d: the step %s is no advice: %w", path, n, e.Step, err)
		}
		repair, _ := strconv.Atoi(m[3])
		if turns[a.Round] == "" {
			turns[a.Round] = m[1]
		} else if turns[a.Round] != m[1] {
			several[a.Round] = true
		}
		for _, p := range a.Proposals {
			r := Recorded{Name: p.Name, Round: a.Round, Repair: repair, Base: a.Base, Answer: p.Text}
			if repair > 0 {
				r.Name = m[2]
			}
			if r.Answer == "" {
				r.Answer = edit.Format(p.Edits)
			}
			out = append(out, r)
		}
	}
	for i, r := range out {
		switch {
		case !several[r.Round]:
			out[i].Base = "" // on whatever program the search goes on with this time
		case r.Base == "":
			return nil, fmt.Errorf("%s: round %d went on from several programs, and the journal does not say from which the answer %q did: "+
				"it was written before journals did; copy the answers into a file of JSON lines", path, r.Round, r.Name)
		}
	}
	return out, nil
}
