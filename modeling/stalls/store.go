package stalls

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// maxCodes is how many rows of the table code a line names.
const maxCodes = 16

// maxSource is how many lines of source an Analysis keeps.
const maxSource = 200_000

// FromStore analyses the PC samples of kernels. The store adds them up, so
// that memory grows with lines and kept instructions and not with samples.
func FromStore(ctx context.Context, s *datasets.Store, opt Options) (*Analysis, error) {
	r := &reader{ctx: ctx, s: s, a: &Analysis{Options: opt}, skip: map[string]bool{}}
	if opt.View != Innermost && opt.View != Outermost {
		return nil, fmt.Errorf("analysing stalls: no view %d: there are stalls.Innermost and stalls.Outermost", int(opt.View))
	}
	for _, step := range []func() error{r.kernels, r.shape, r.launches, r.parted, r.texts} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("analysing the stalls of %s: %w", s.Path(), err)
		}
		if len(r.a.Kernels) == 0 {
			break
		}
	}
	r.finish()
	return r.a, nil
}

// reader fills an Analysis with one query per table that it has.
type reader struct {
	ctx     context.Context
	s       *datasets.Store
	a       *Analysis
	with    string          // the common part of all queries: u (launches), s (samples), c (code)
	skip    map[string]bool // reasons whose rows are the not-issued part of others
	issued  []string        // spellings of "selected"
	chains  bool
	repeats bool
	parts   []unitCode
	now     []int64                        // units of the part that is being read
	tables  func(only, code string) string // the common part for some of the samples and some of the code
}

// each runs a query over the common tables and calls f for each row.
func (r *reader) each(query string, f func(v []any)) error {
	rows, err := r.s.Rows(r.ctx, r.with+query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		f(rows.Values())
	}
	return rows.Err()
}

func whole(v any) int64 { n, _ := v.(int64); return n }

func word(v any) string { s, _ := v.(string); return s }

func maybe(v any) datasets.Null[int64] {
	n, ok := v.(int64)
	return datasets.Null[int64]{V: n, Valid: ok}
}

// digits is how long a number is as text; to make the text would take longer
// than all the rest.
func digits(column string) string {
	return "CASE WHEN " + column + " IS NULL THEN 0 WHEN " + column + " < 10 THEN 1 ELSE 1 + floor(log10(" + column + "))::BIGINT END"
}

// kernels finds the kernels that have samples, and how much there is of them.
func (r *reader) kernels() error {
	o := r.a.Options
	// Values stand in the text, so that Evidence.Query is a query to copy.
	where := "g.kind = '" + datasets.KindKernel + "'"
	if o.Run != 0 {
		where += fmt.Sprintf(" AND g.run_id = %d", o.Run)
	}
	if o.Kernel != "" {
		where += fmt.Sprintf(" AND %s IN (g.short, g.raw)", literals([]string{o.Kernel}))
	}
	if o.Launch != 0 {
		where += fmt.Sprintf(" AND l.id = %d", o.Launch)
	}
	unit := ""
	if o.ByLaunch {
		unit = ", l.id"
	}
	r.with = `WITH u AS (SELECT l.id AS launch, l.sequence, g.run_id AS run, g.short, g.raw,
		dense_rank() OVER (ORDER BY g.run_id, g.raw` + unit + `) AS unit
		FROM launch l JOIN region g ON g.id = l.region_id WHERE ` + where + `)`
	units := map[int64]*Kernel{}
	var order []int64
	reasons := map[string]bool{}
	err := r.each(` SELECT unit, any_value(run), min(short), any_value(raw), min(launch), count(*), sum(samples)::BIGINT, sum(bytes)::BIGINT, reason,
		count(*) FILTER (WHERE samples IS NULL), min(code_id), max(code_id) FROM
		(SELECT u.*, p.code_id, p.reason, p.samples, `+digits("p.code_id")+` + strlen(p.reason) + `+digits("p.samples")+` + `+digits("p.not_issued")+` + 4 AS bytes
			FROM pc_sample p JOIN u ON u.launch = p.launch_id)
		GROUP BY unit, reason ORDER BY unit, reason`, func(v []any) {
		id := whole(v[0])
		k := units[id]
		if k == nil {
			k = &Kernel{Run: whole(v[1]), Name: word(v[2]), Raw: word(v[3]), sources: map[string][]string{}}
			if o.ByLaunch {
				k.Launch = whole(v[4])
			}
			units[id] = k
			order = append(order, id)
			r.parts = append(r.parts, unitCode{unit: id, first: whole(v[10]), last: whole(v[11])})
		}
		at := &r.parts[len(r.parts)-1]
		at.first, at.last = min(at.first, whole(v[10])), max(at.last, whole(v[11]))
		k.RawRows += whole(v[5])
		k.RawBytes += whole(v[7])
		k.Uncounted += whole(v[9])
		k.Repeated += whole(v[6]) // less what is counted, in finish
		reasons[word(v[8])] = true
		if k.spelled == nil {
			k.spelled = map[string][]string{}
		}
		if name := Canonical(word(v[8])); !datasets.Selected(word(v[8])) {
			k.spelled[name] = append(k.spelled[name], word(v[8]))
		}
	})
	if err != nil {
		return err
	}
	for reason := range reasons {
		// "x (not issued)" is a part of x where x is there as well.
		if notIssuedOnly(reason) {
			for other := range reasons {
				if !notIssuedOnly(other) && key(other) == key(reason) {
					r.skip[reason] = true
				}
			}
		}
		if datasets.Selected(reason) {
			r.issued = append(r.issued, reason)
		}
	}
	sort.Strings(r.issued)
	r.a.Options = o.filled(len(order))
	// Units are numbered among all launches; those with samples keep their number.
	if n := len(order); n > 0 {
		r.a.Kernels = make([]*Kernel, order[n-1]+1)
		for id, k := range units {
			r.a.Kernels[id] = k
		}
	}
	return nil
}

// shape finds out whether the store has samples more than once, and completes
// the common tables by what counts each of them once.
func (r *reader) shape() error {
	var where []string
	if len(r.skip) > 0 {
		where = append(where, "p.reason NOT IN ("+literals(slices.Sorted(maps.Keys(r.skip)))+")")
	}
	err := r.each(` SELECT EXISTS (SELECT 1 FROM code WHERE inline_depth IS NOT NULL AND "offset" IS NOT NULL AND isa <> 'source'
		GROUP BY run_id, region_id, isa, "offset" HAVING count(DISTINCT inline_depth) > 1)::BIGINT,
		(SELECT count(DISTINCT isa = 'source') FROM code WHERE id IN (SELECT code_id FROM pc_sample))`, func(v []any) {
		r.chains, r.repeats = whole(v[0]) == 1, whole(v[1]) > 1
	})
	if err != nil {
		return err
	}
	if r.repeats {
		// Where a launch has samples of instructions, those of lines are the same.
		where = append(where, `(NOT EXISTS (SELECT 1 FROM code c WHERE c.id = p.code_id AND c.isa = 'source') OR p.launch_id NOT IN
			(SELECT q.launch_id FROM pc_sample q JOIN code d ON d.id = q.code_id WHERE d.isa NOT IN ('source', 'machine')))`)
	}
	base := r.with
	r.tables = func(only, code string) string { return base + r.samples(where, only, code) }
	r.with = r.tables("", "")
	return nil
}

// samples is the tables s and c: what is counted, under conditions, and the
// code it is of. only and code, where not empty, restrict them.
func (r *reader) samples(where []string, only, code string) string {
	if only != "" {
		where = append(slices.Clone(where), only)
	}
	filter := ""
	if len(where) > 0 {
		filter = " WHERE " + strings.Join(where, " AND ")
	}
	samples := `SELECT u.unit, p.launch_id AS launch, p.code_id AS code, p.reason, p.samples, p.not_issued FROM pc_sample p JOIN u ON u.launch = p.launch_id` + filter
	if !r.chains {
		if code != "" {
			code = " WHERE " + code
		}
		return `, s AS (` + samples + `), c AS (SELECT id, region_id, isa, "offset", opcode, text, file, line FROM code` + code + `)`
	}
	// Rows of one instruction, one for each function that it is inlined into. A
	// tool counts a sample for the innermost, or for each of them: those whose
	// code has samples of a deeper row beside them are the same ones again. This
	// is decided by kernel and not by launch, so that what must be remembered
	// grows with the code and not with the samples.
	if only != "" {
		only = " WHERE " + only
	}
	const chain = `PARTITION BY run_id, region_id, isa, "offset", CASE WHEN "offset" IS NULL OR isa = 'source' THEN id END ORDER BY coalesce(inline_depth, 0)`
	with := `, chain AS (SELECT id, coalesce(inline_depth, 0) AS depth,
		last_value(id) OVER (` + chain + `, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS deepest,
		first_value(id) OVER (` + chain + `, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS outermost FROM code),
		home AS (SELECT unit, id, deepest FROM (SELECT a.unit, a.id, h.deepest, h.depth, max(h.depth) OVER (PARTITION BY a.unit, h.deepest) AS most
			FROM (SELECT DISTINCT u.unit, p.code_id AS id FROM pc_sample p JOIN u ON u.launch = p.launch_id` + only + `) a JOIN chain h ON h.id = a.id) WHERE depth = most),
		s AS (SELECT t.unit, t.launch, h.deepest AS code, t.reason, t.samples, t.not_issued FROM (` + samples + `) t JOIN home h ON h.unit = t.unit AND h.id = t.code)`
	if r.a.Options.View == Outermost {
		return with + `, c AS (SELECT c.id, c.region_id, c.isa, c."offset", c.opcode, c.text, o.file, o.line FROM code c JOIN chain h ON h.id = c.id JOIN code o ON o.id = h.outermost)`
	}
	return with + `, c AS (SELECT id, region_id, isa, "offset", opcode, text, file, line FROM code)`
}

func literals(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "'" + strings.ReplaceAll(n, "'", "''") + "'"
	}
	return strings.Join(quoted, ", ")
}

// stalled is the condition that a sample is none of "selected".
func (r *reader) stalled() string {
	if len(r.issued) == 0 {
		return "true"
	}
	return "reason NOT IN (" + literals(r.issued) + ")"
}

const sums = `sum(s.samples)::BIGINT, sum(s.not_issued)::BIGINT`

func (r *reader) launches() error {
	err := r.each(` SELECT u.unit, u.launch, any_value(u.sequence), s.reason, `+sums+` FROM s JOIN u ON u.launch = s.launch
		GROUP BY u.unit, u.launch, s.reason ORDER BY u.unit, any_value(u.sequence) NULLS LAST, u.launch, s.reason`, func(v []any) {
		k := r.a.Kernels[whole(v[0])]
		id, reason, n, idle := whole(v[1]), word(v[3]), whole(v[4]), maybe(v[5])
		k.add(reason, n, idle)
		if i := len(k.Launches) - 1; i < 0 || k.Launches[i].ID != id {
			if i+1 >= r.a.Options.Launches {
				return
			}
			k.Launches = append(k.Launches, Launch{ID: id, Sequence: maybe(v[2])})
		}
		k.Launches[len(k.Launches)-1].add(reason, n, idle)
	})
	if err != nil {
		return err
	}
	return r.each(` SELECT unit, count(DISTINCT launch) FROM s GROUP BY unit`, func(v []any) { r.a.Kernels[whole(v[0])].LaunchCount = int(whole(v[1])) })
}

// place is a line of a file.
type place struct {
	file string
	line datasets.Null[int64]
}

func (r *reader) lines() error {
	var unit int64
	var at *Line
	top := &best[Line]{most: r.a.Options.Lines, less: func(a, b *Line) bool {
		return stallsLess(&a.Tally, &b.Tally, func() bool { return a.File > b.File || a.File == b.File && a.Line.V > b.Line.V })
	}}
	flush := func() {
		if at != nil {
			top.put(at)
		}
		at = nil
	}
	end := func() {
		flush()
		if unit > 0 {
			k := r.a.Kernels[unit]
			k.Lines = top.sorted()
			k.Rest = Rest{Count: top.count, Tally: top.rest}
		}
		top.items, top.count, top.rest = nil, 0, Tally{}
	}
	top.tally = func(l *Line) *Tally { return &l.Tally }
	err := r.each(` SELECT s.unit, coalesce(c.file, ''), c.line, s.reason, `+sums+` FROM s LEFT JOIN c ON c.id = s.code
		GROUP BY ALL ORDER BY 1, 2, 3 NULLS FIRST, 4`, func(v []any) {
		if u := whole(v[0]); u != unit {
			end()
			unit = u
		}
		p := place{word(v[1]), maybe(v[2])}
		if at == nil || at.File != p.file || at.Line != p.line {
			flush()
			at = &Line{File: strings.Clone(p.file), Line: p.line}
		}
		at.add(word(v[3]), whole(v[4]), maybe(v[5]))
	})
	end()
	return err
}

func (r *reader) types() error {
	classes := map[*Kernel]map[Class]*Type{}
	err := r.each(` SELECT s.unit, coalesce(c.isa, ''), CASE WHEN coalesce(c.opcode, '') <> '' THEN c.opcode
			WHEN c.isa <> 'source' THEN regexp_extract(coalesce(c.text, ''), '^\s*(?:@\S+\s+)?(\S+)', 1) ELSE '' END AS op, s.reason, `+sums+`
		FROM s LEFT JOIN c ON c.id = s.code GROUP BY ALL ORDER BY ALL`, func(v []any) {
		k := r.a.Kernels[whole(v[0])]
		if classes[k] == nil {
			classes[k] = map[Class]*Type{}
		}
		op := word(v[2])
		class := Classify(word(v[1]), op)
		t := classes[k][class]
		if t == nil {
			t = &Type{Class: class}
			classes[k][class] = t
		}
		if n := len(t.Opcodes); op != "" && n < 64 && (n == 0 || t.Opcodes[n-1] != op) {
			t.Opcodes = append(t.Opcodes, strings.Clone(op))
		}
		t.add(word(v[3]), whole(v[4]), maybe(v[5]))
	})
	for k, of := range classes {
		for _, t := range of {
			t.sort()
			sort.Strings(t.Opcodes)
			k.Types = append(k.Types, *t)
		}
		sort.Slice(k.Types, func(i, j int) bool {
			a, b := &k.Types[i], &k.Types[j]
			return stallsLess(&b.Tally, &a.Tally, func() bool { return a.Class < b.Class })
		})
	}
	return err
}

// texts fetches the source of files that have samples.
func (r *reader) texts() error {
	type file struct {
		run  int64
		name string
	}
	wanted := map[file][]*Kernel{}
	var names []string
	known := map[string]bool{}
	for _, k := range r.a.Kernels {
		if k == nil {
			continue
		}
		for _, l := range k.Lines {
			f := file{k.Run, l.File}
			if n := len(wanted[f]); l.File != "" && (n == 0 || wanted[f][n-1] != k) {
				wanted[f] = append(wanted[f], k)
			}
			if l.File != "" && !known[l.File] && len(names) < 1000 {
				known[l.File] = true
				names = append(names, l.File)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	texts := map[file][]string{}
	err := r.each(` SELECT run_id, file, line, min(substr(text, 1, 1000)) FROM code WHERE isa = 'source' AND line BETWEEN 1 AND `+strconv.Itoa(maxSource)+` AND text IS NOT NULL
		AND file IN (`+literals(names)+`) GROUP BY ALL ORDER BY 1, 2, 3 LIMIT `+strconv.Itoa(maxSource), func(v []any) {
		f := file{whole(v[0]), word(v[1])}
		lines := texts[f]
		for int64(len(lines)) < whole(v[2])-1 {
			lines = append(lines, "")
		}
		texts[f] = append(lines, word(v[3]))
	})
	for f, lines := range texts {
		for _, k := range wanted[f] {
			k.Source(f.name, strings.Join(lines, "\n"))
		}
	}
	return err
}

// finish computes shares and drops what has no samples.
func (r *reader) finish() {
	a := r.a
	kept := a.Kernels[:0]
	var repeated, uncounted int64
	for unit, k := range a.Kernels {
		if k == nil {
			continue
		}
		k.dominant = a.Options.Dominant
		k.with, k.unit, k.stalled = r.with, unit, r.stalled()
		kept = append(kept, k)
		k.Repeated -= k.Samples
		repeated += k.Repeated
		uncounted += k.Uncounted
		all := k.Stalled()
		k.sort()
		for i := range k.Launches {
			k.Launches[i].sort()
		}
		for i := range k.Lines {
			k.Lines[i].sort()
			k.Lines[i].Share = part(k.Lines[i].Stalled(), all)
		}
		for i := range k.Instructions {
			k.Instructions[i].Share = part(k.Instructions[i].Stalled(), all)
		}
		for i := range k.Types {
			k.Types[i].Share = part(k.Types[i].Stalled(), all)
		}
		k.Rest.sort()
		k.Rest.Share, k.RestOfCode.Share = part(k.Rest.Stalled(), all), part(k.RestOfCode.Stalled(), all)
	}
	a.Kernels = kept
	sort.SliceStable(a.Kernels, func(i, j int) bool { return a.Kernels[i].Stalled() > a.Kernels[j].Stalled() })
	if repeated > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d samples are in the store more than once (for lines beside instructions, or for functions that code is inlined into) and count once", repeated))
	}
	if uncounted > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d rows give only the samples of cycles without an issue; all samples of these rows are not known and left out", uncounted))
	}
	if a.Options.View == Outermost && !r.chains && len(a.Kernels) > 0 {
		a.Notes = append(a.Notes, "the profile does not say what code is inlined into: lines are those of the instructions")
	}
}
