package agents

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

// accessPlace finds line and pattern in what the collector llvm says of an access:
// "load 8 bytes of generic memory at matmul.c:10:39, loop strided".
var accessPlace = regexp.MustCompile(`^(load|store|atomic) (\d+) bytes .* at .*:(\d+):\d+, loop (strided|indirect)`)

// walk is an innermost loop with the accesses that do not go on with their neighbour.
type walk struct {
	region, line int64 // of the loop; line 0 where it is not known
	name         string
	pattern      string          // strided or indirect
	lines        map[int64]int64 // accesses by line
}

// static are items on innermost loops that walk memory in strides or by loaded
// indices, as LLVM's intermediate representation of the sources has them: nothing
// is run. An item is about the loop nest, since it is the order of its loops that
// makes the strides, and names the lines of the accesses. Ids begin with I. Where
// the sources cannot be looked at, a note says why.
func (w *Workbench) static(ctx context.Context, s *datasets.Store, p *Program, ran []build.Ran) (items []insight.Item, notes []string) {
	if w.Target.Language == target.CUDA || w.Target.Language == target.HIP {
		return nil, []string{"no static analysis: the collector llvm reads C, C++ and OpenCL C"}
	}
	for _, src := range w.Target.Sources() {
		if len(src.Editable) == 0 || !slices.Contains([]string{".c", ".cc", ".cpp", ".cxx", ".cl"}, filepath.Ext(src.Path)) {
			continue
		}
		dir := w.sourceDir(p.ID)
		sum, err := collectors.Collect(ctx, s, "llvm", []string{"--source", src.Path, "--options", includes(ran)}, collectors.Job{Dir: dir})
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case len(sum.States) > 0 && sum.States[0].Status != datasets.RunOK:
			why = sum.States[0].Error
		}
		if why != "" {
			notes = append(notes, "no static analysis of "+src.Path+": "+why)
			continue
		}
		found, err := walks(ctx, s, sum.Run())
		if err != nil {
			notes = append(notes, "no static analysis of "+src.Path+": "+err.Error())
			continue
		}
		for _, k := range found {
			items = append(items, k.item(fmt.Sprintf("I%d", len(items)+1), src.Path, sum.Run()))
		}
	}
	return items, notes
}

// walks finds the loops of a run of the collector llvm.
func walks(ctx context.Context, s *datasets.Store, run int64) ([]*walk, error) {
	type loop struct{ parent, line int64 }
	loops := map[int64]loop{}
	err := s.Each(ctx, func(v []any) {
		id, _ := v[0].(int64)
		parent, _ := v[1].(int64)
		said, _ := v[2].(string)
		line, _ := strconv.ParseInt(said, 10, 64)
		loops[id] = loop{parent, line}
	}, `SELECT r.id, r.parent_id, a.value FROM region r LEFT JOIN attribute a ON a.region_id = r.id AND a.run_id = r.run_id AND a.name = 'line'
		WHERE r.run_id = ? AND r.kind = 'loop'`, run)
	if err != nil {
		return nil, err
	}
	var out []*walk
	err = s.Each(ctx, func(v []any) {
		region, _ := v[0].(int64)
		name, _ := v[1].(string)
		said, _ := v[2].(string)
		m := accessPlace.FindStringSubmatch(said)
		if m == nil {
			return
		}
		line, _ := strconv.ParseInt(m[3], 10, 64)
		i := slices.IndexFunc(out, func(k *walk) bool { return k.region == region && k.pattern == m[4] })
		if i < 0 {
			i = len(out)
			// Loops around it that stand directly above it are of one nest with it.
			at, l := loops[region].line, loops[region]
			for up, ok := loops[l.parent]; ok && at > 0 && up.line > 0 && up.line <= at && at-up.line <= 2; up, ok = loops[l.parent] {
				at, l = up.line, up
			}
			out = append(out, &walk{region: region, line: at, name: name, pattern: m[4], lines: map[int64]int64{}})
		}
		out[i].lines[line]++
	}, `SELECT r.id, r.short, a.value FROM attribute a JOIN region r ON r.id = a.region_id AND r.run_id = a.run_id
		JOIN static_feature f ON f.region_id = r.id AND f.run_id = r.run_id AND f.name = 'innermost' AND f.value = 1
		WHERE a.run_id = ? AND a.name LIKE 'access.%' ORDER BY r.id, a.name`, run)
	return out, err
}

func (k *walk) item(id, file string, run int64) insight.Item {
	var total, first, last int64
	var places []string
	for line, n := range k.lines {
		total += n
		if first == 0 || line < first {
			first = line
		}
		last = max(last, line)
	}
	for _, line := range slices.Sorted(maps.Keys(k.lines)) {
		places = append(places, strconv.FormatInt(line, 10))
	}
	if k.line > 0 && k.line < first {
		first = k.line
	}
	how, meaning := "whose address moves by more than one element", "Each iteration touches another cache line, of which it uses a part."
	remedies := []string{"Exchange loops, or change the layout, so that the innermost loop has unit stride."}
	if k.pattern == "indirect" {
		how, meaning = "at an index that is loaded", "Where the next access goes is known only when the index has arrived: no vector loads, and the cache line may be another one."
		remedies = []string{"Sort or block by the index, or copy what is used together into neighbouring places."}
	}
	noun, lines := "accesses", "lines"
	if total == 1 {
		noun = "access"
	}
	if len(places) == 1 {
		lines = "line"
	}
	return insight.Item{ID: id, Kind: insight.Counter, Rule: "static-stride", Verdict: insight.Problem,
		Statement: fmt.Sprintf("Each iteration of the innermost loop %s has %d %s %s, in %s %s.", k.name, total, noun, how, lines, strings.Join(places, ", ")),
		Metric:    "access.loop." + k.pattern, Value: float64(total), Unit: "access", Importance: 0.2,
		Location: &insight.Location{File: file, Line: first, EndLine: last},
		Query: fmt.Sprintf("SELECT count(*) FROM attribute WHERE run_id = %d AND region_id = %d AND name LIKE 'access.%%' AND value LIKE '%% at %%, loop %s%%'",
			run, k.region, k.pattern),
		Estimate: "from the source alone, at -O1: how often the loop runs is not known",
		Sources:  []insight.Source{{Run: run, Tool: "llvm", Path: file, Rows: []insight.Row{}}},
		Meaning:  meaning, Remedies: remedies, Moves: []insight.Move{{Metric: "time", Direction: insight.Down}}}
}
