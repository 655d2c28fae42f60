package timemory

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID = 1

var (
	// flatPrefix is what stands before a label in the flat form: the thread
	// between a bar and an arrow, and the indentation.
	flatPrefix = regexp.MustCompile(`^(?:\|?([0-9]*)>>>|>>>|>) *((?:\| +)*(?:\|_)?)`)
	inBrackets = regexp.MustCompile(`^\[(.*)\]\[(.*?)(?::(\d+))?\]$`)
	atPlace    = regexp.MustCompile(`^(.+?)@(.+?):(\d+)(/.*)?$`)
)

// region returns the region of a label below another.
func (p *parser) region(parent int64, label string) (int64, error) {
	key := regionKey{parent, label}
	if id, ok := p.regions[key]; ok {
		return id, nil
	}
	id := int64(len(p.regions) + 1)
	p.regions[key] = id
	g := datasets.Region{ID: id, Run: runID, Parent: parent, Kind: datasets.KindFunction, Raw: label, Order: datasets.Some(id - 1)}
	file, line := "", ""
	switch m := inBrackets.FindStringSubmatch(label); {
	case m != nil:
		g.Short, file, line = collectors.ShortName(m[1]), m[2], m[3]
	default:
		if m = atPlace.FindStringSubmatch(label); m != nil {
			g.Short, file, line = collectors.ShortName(m[1])+m[4], m[2], m[3]
			break
		}
		g.Short = collectors.ShortName(label)
	}
	if g.Short == "" {
		g.Short = label
	}
	if err := p.out.Put(&g); err != nil {
		return 0, err
	}
	for _, kv := range [2][2]string{{"file", file}, {"line", line}} {
		if kv[1] == "" {
			continue
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Region: id, Name: kv[0], Value: kv[1]}); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// flat reads a list of entries, whose parents follow from their depths.
func (p *parser) flat(c *component, nodes []flatNode, rank datasets.Null[int64]) error {
	type open struct{ depth, region int64 }
	stacks := map[string][]open{}
	for i, n := range nodes {
		if i%1024 == 0 && p.ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", p.in.Name, p.ctx.Err())
		}
		label, thread := n.Prefix, ""
		if m := flatPrefix.FindStringSubmatch(label); m != nil {
			label, thread = label[len(m[0]):], m[1]
		}
		label = strings.TrimSpace(label)
		st := stacks[thread]
		for len(st) > 0 && st[len(st)-1].depth >= n.Depth {
			st = st[:len(st)-1]
		}
		parent := int64(0)
		if len(st) > 0 {
			parent = st[len(st)-1].region
		}
		region, err := p.region(parent, label)
		if err != nil {
			return err
		}
		stacks[thread] = append(st, open{n.Depth, region})
		// The number is the thread's where there is one process, else it may be the rank's.
		tid := ""
		if len(c.Ranks) == 1 {
			tid = thread
		}
		launch, err := p.launch(region, rank, tid, "")
		if err != nil {
			return err
		}
		if err := p.entry(region, launch, "inclusive", n.Entry, n.Stats); err != nil {
			return err
		}
	}
	return nil
}

// tree reads a node and those below it. encoding/json bounds how deep they nest.
func (p *parser) tree(n *treeNode, parent int64, rank datasets.Null[int64]) error {
	if p.ctx.Err() != nil {
		return fmt.Errorf("reading %s: %w", p.in.Name, p.ctx.Err())
	}
	region := parent
	if h := n.Node.Hash.String(); h != "0" && (h != "" || n.Node.Prefix != "") {
		var err error
		if region, err = p.region(parent, n.Node.Prefix); err != nil {
			return err
		}
		launch, err := p.launch(region, rank, ids(n.Node.TID), ids(n.Node.PID))
		if err != nil {
			return err
		}
		if err := p.entry(region, launch, "inclusive", n.Node.Inclusive.Entry, n.Node.Inclusive.Stats); err != nil {
			return err
		}
		exclusive := n.Node.Exclusive
		exclusive.Entry.Laps = nil // the same again
		if err := p.entry(region, launch, "exclusive", exclusive.Entry, exclusive.Stats); err != nil {
			return err
		}
	}
	for i := range n.Children {
		if err := p.tree(&n.Children[i], region, rank); err != nil {
			return err
		}
	}
	return nil
}

// ids are numbers of threads or processes, "1,2".
func ids(raw json.RawMessage) string {
	var list []json.Number
	if json.Unmarshal(raw, &list) == nil {
		texts := make([]string, len(list))
		for i, n := range list {
			texts[i] = n.String()
		}
		return strings.Join(texts, ",")
	}
	if s := strings.Trim(string(raw), `" `); s != "null" {
		return s
	}
	return ""
}

// launch returns the launch of an entry. Those of other components for the
// same region, rank and thread share it, each repetition with its like.
func (p *parser) launch(region int64, rank datasets.Null[int64], tid, pid string) (int64, error) {
	key := launchKey{region: region, rank: rank, tid: tid, pid: pid}
	p.seen[key]++
	n := p.seen[key]
	key.occurence = n
	p.entries++
	if id, ok := p.launches[key]; ok {
		return id, nil
	}
	id := int64(len(p.launches) + 1)
	p.launches[key] = id
	l := datasets.Launch{ID: id, Run: runID, Region: region, Rank: rank, Sequence: datasets.Some(id - 1)}
	for _, f := range []struct {
		text, name string
		dst        *datasets.Null[int64]
	}{{tid, "threads", &l.Thread}, {pid, "processes", &l.PID}} {
		if f.text == "" {
			continue
		}
		if n, err := strconv.ParseInt(f.text, 10, 64); err == nil {
			*f.dst = datasets.Some(n)
			continue
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: id, Name: f.name, Value: f.text}); err != nil {
			return 0, err
		}
	}
	return id, p.out.Put(&l)
}

// entry emits the values of an entry; how is inclusive or exclusive.
func (p *parser) entry(region, launch int64, how string, e entry, stats json.RawMessage) error {
	if e.Laps != nil {
		if err := p.counter(region, launch, p.name+" laps", e.Laps.String(), ""); err != nil {
			return err
		}
	}
	if len(e.ReprData) == 0 || string(e.ReprData) == "null" {
		return p.put(region, launch, p.name+" "+how, "", p.unit, datasets.Null[float64]{}, datasets.StatusMissing)
	}
	if err := p.values(region, launch, how, "", e.ReprData, true); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if len(stats) == 0 || stats[0] != '{' || json.Unmarshal(stats, &fields) != nil {
		fields = nil // components need not have statistics
	}
	// Without a lap there are no statistics, though timemory writes zeros.
	if string(fields["count"]) == "0" {
		return nil
	}
	for _, f := range []string{"count", "sum", "min", "max", "mean", "stddev", "sqr"} {
		raw, ok := fields[f]
		if !ok {
			continue
		}
		if err := p.values(region, launch, how, " "+f, raw, f != "count" && f != "sqr"); err != nil {
			return err
		}
	}
	return nil
}

// values emits a number, or the numbers of a component that has several.
func (p *parser) values(region, launch int64, how, statistic string, raw json.RawMessage, hasUnit bool) error {
	unitOf := func(i, n int) string { // of the i-th of n values
		switch {
		case !hasUnit:
			return ""
		case len(p.units) == n:
			return p.units[i]
		}
		return p.unit
	}
	switch raw[0] {
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("reading %s: %w", p.in.Name, err)
		}
		for i, v := range list {
			label := strconv.Itoa(i)
			if i < len(p.labels) {
				label = p.labels[i]
			}
			if err := p.counter(region, launch, p.name+"."+label+" "+how+statistic, plain(v), unitOf(i, len(list))); err != nil {
				return err
			}
		}
		return nil
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return fmt.Errorf("reading %s: %w", p.in.Name, err)
		}
		keys := make([]string, 0, len(members))
		for k := range members {
			if k != "cereal_class_version" {
				keys = append(keys, k)
			}
		}
		sort.Strings(keys)
		for i, k := range keys {
			if err := p.counter(region, launch, p.name+"."+k+" "+how+statistic, plain(members[k]), unitOf(i, len(keys))); err != nil {
				return err
			}
		}
		return nil
	}
	return p.counter(region, launch, p.name+" "+how+statistic, plain(raw), unitOf(0, 1))
}

func (p *parser) counter(region, launch int64, metric, text, unit string) error {
	if word, not := collectors.NotFinite(text); not {
		text = word
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		if v, err = collectors.ParseUnit(unit).Scale(text, collectors.Dot); err == nil {
			return p.put(region, launch, metric, text, unit, datasets.Some(v), datasets.StatusOK)
		}
	}
	return p.put(region, launch, metric, text, unit, datasets.Null[float64]{}, datasets.StatusNA)
}

func (p *parser) put(region, launch int64, metric, text, unit string, v datasets.Null[float64], status string) error {
	return p.out.Put(&datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: metric, Value: v, Unit: collectors.ParseUnit(unit).Base,
		RawValue: text, RawUnit: unit, Status: status})
}
