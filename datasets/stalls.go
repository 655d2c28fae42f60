package datasets

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// StallsBy says what Stalls adds samples up over.
type StallsBy int

// Levels of Stalls.
const (
	StallsByKernel      StallsBy = iota
	StallsByInstruction          // of a kernel, summed over its launches
	StallsByLine                 // of the source; instructions without a line are one row, file and line NA
)

// Selected reports whether the reason of a PC sample means that the warp
// issued, which is no stall. ("not selected" is one: the warp was ready and
// another one issued.)
func Selected(reason string) bool {
	r := strings.ToLower(reason)
	for _, p := range []string{"smsp__pcsamp_warps_issue_", "stalled_", "stall_"} {
		r = strings.TrimPrefix(r, p)
	}
	return strings.TrimSuffix(r, "_not_issued") == "selected" || r == "selected (not issued)"
}

// Stalls returns PC samples with their reasons as columns, the most sampled
// first within a kernel: run_id, kernel (short name); by instruction also
// code_id, offset (bytes from the kernel's begin), opcode, text, file, line; by
// line also file, line, text (where the profile has the source); then samples
// (all), selected (those in which the warp issued), stalled (all others),
// not_issued (samples in cycles in which the scheduler issued nothing), share
// (of the kernel's stalled samples, 0 to 1) and one Float column per reason:
// its part of the row's stalled samples, 0 to 1, so that the reasons of a row
// add up to 1. "selected" is no stall and has no such column.
//
// A reason that the run knows and that was not seen in a row is 0; one that the
// run does not know is NA, and so are all of them where nothing stalled. Only
// kernels are here: for functions of a CPU the reason of a sample is an event
// that was counted ("cpu", "Ir"), and no stall; the table pc_sample has those.
// Filter.Metrics is not looked at.
func (s *Store) Stalls(ctx context.Context, f Filter, by StallsBy) (dataframe.DataFrame, error) {
	df, err := s.stalls(ctx, f, by)
	if err != nil {
		return df, fmt.Errorf("stalls: %w", err)
	}
	return df, nil
}

// stallKey is what a row of Stalls is about.
type stallKey struct {
	run    int64
	kernel string
	code   int64
	file   string
	line   Null[int64]
}

type stallRow struct {
	stallKey
	offset             Null[int64]
	opcode, text       string
	samples, notIssued int64
	counted            bool // notIssued was given
	selected           int64
	reasons            map[string]int64
}

func (s *Store) stalls(ctx context.Context, f Filter, by StallsBy) (dataframe.DataFrame, error) {
	key := map[StallsBy]string{StallsByKernel: "NULL, NULL, NULL, NULL, NULL, NULL", StallsByInstruction: `c.id, c."offset", c.opcode, c.text, c.file, c.line`,
		StallsByLine: "NULL, NULL, NULL, CASE WHEN c.isa = 'source' THEN c.text END, c.file, c.line"}[by]
	if key == "" {
		return dataframe.DataFrame{}, fmt.Errorf("no level %d: there are StallsByKernel, StallsByInstruction and StallsByLine", by)
	}
	where, args := f.where(false)
	rows := map[stallKey]*stallRow{}
	var order []*stallRow
	known := map[int64]map[string]bool{} // reasons by run
	stalled := map[[2]any]int64{}        // by run and kernel
	reasons := map[string]bool{}
	err := each(ctx, s.conn, `SELECT l.run_id, g.short, `+key+`, p.reason, sum(p.samples)::BIGINT, sum(p.not_issued)::BIGINT
		FROM pc_sample p JOIN launch l ON l.id = p.launch_id JOIN (SELECT * FROM region WHERE kind = '`+KindKernel+`') g ON g.id = l.region_id
		LEFT JOIN code c ON c.id = p.code_id`+where+` GROUP BY ALL ORDER BY ALL`, func(v []any) {
		k := stallKey{run: integer(v[0]).V, kernel: str(v[1]), code: integer(v[2]).V, file: str(v[6]), line: integer(v[7])}
		r := rows[k]
		if r == nil {
			r = &stallRow{stallKey: k, offset: integer(v[3]), opcode: str(v[4]), reasons: map[string]int64{}}
			rows[k] = r
			order = append(order, r)
		}
		if t := str(v[5]); r.text == "" {
			r.text = t
		}
		reason, n, idle := str(v[8]), integer(v[9]), integer(v[10])
		r.samples += n.V
		r.notIssued, r.counted = r.notIssued+idle.V, r.counted || idle.Valid
		if Selected(reason) {
			r.selected += n.V
			return
		}
		r.reasons[reason] += n.V
		reasons[reason] = true
		if known[k.run] == nil {
			known[k.run] = map[string]bool{}
		}
		known[k.run][reason] = true
		stalled[[2]any{k.run, k.kernel}] += n.V
	}, args...)
	if err != nil {
		return dataframe.DataFrame{}, err
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if a.run != b.run {
			return a.run < b.run
		}
		if a.kernel != b.kernel {
			x, y := stalled[[2]any{a.run, a.kernel}], stalled[[2]any{b.run, b.kernel}]
			return x > y || x == y && a.kernel < b.kernel
		}
		return a.samples-a.selected > b.samples-b.selected
	})
	names := sorted(reasons)
	if err := s.fits(len(order), len(names)+13); err != nil {
		return dataframe.DataFrame{}, err
	}
	return stallFrame(order, names, known, stalled, by)
}

func stallFrame(order []*stallRow, reasons []string, known map[int64]map[string]bool, stalled map[[2]any]int64, by StallsBy) (dataframe.DataFrame, error) {
	var t table
	t.columns(series.Int, "run_id")
	t.columns(series.String, "kernel")
	switch by {
	case StallsByInstruction:
		t.columns(series.Int, "code_id", "offset")
		t.columns(series.String, "opcode", "text", "file")
		t.columns(series.Int, "line")
	case StallsByLine:
		t.columns(series.String, "file")
		t.columns(series.Int, "line")
		t.columns(series.String, "text")
	}
	t.columns(series.Int, "samples", "selected", "stalled", "not_issued")
	t.columns(series.Float, "share")
	for _, r := range reasons {
		if slices.Contains(t.names, r) {
			r += " (reason)" // a name that another column has
		}
		t.column(r, series.Float)
	}
	for _, r := range order {
		row := []any{r.run, r.kernel}
		switch by {
		case StallsByInstruction:
			row = append(row, ref(r.code), r.offset, text(r.opcode), text(r.text), text(r.file), r.line)
		case StallsByLine:
			row = append(row, text(r.file), r.line, text(r.text))
		}
		n := r.samples - r.selected
		row = append(row, r.samples, r.selected, n, Null[int64]{r.notIssued, r.counted}, part(n, stalled[[2]any{r.run, r.kernel}]))
		for _, reason := range reasons {
			if known[r.run][reason] {
				row = append(row, part(r.reasons[reason], n))
			} else {
				row = append(row, nil)
			}
		}
		t.add(row...)
	}
	return t.frame()
}

// part is n of all, absent where all is nothing.
func part(n, all int64) Null[float64] {
	if all == 0 {
		return Null[float64]{}
	}
	return Some(float64(n) / float64(all))
}
