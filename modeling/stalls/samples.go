package stalls

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// mostCode is about how much code is looked at together. To add samples up by
// code takes memory for each of it: a store with more is read in parts, kernel
// by kernel. Samples of a kernel name code that was written together, so that
// the store skips most of what is of other parts.
const mostCode = 250_000

const sums = `sum(s.samples)::BIGINT, sum(s.not_issued)::BIGINT`

// parted calls f for kernels of about mostCode code together.
func parted(ks []*Kernel, f func(part []*Kernel) error) error {
	ks = slices.Clone(ks)
	slices.SortFunc(ks, func(a, b *Kernel) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.unit, b.unit)) })
	for from := 0; from < len(ks); {
		size := int64(0)
		to := from
		for ; to < len(ks) && (size == 0 || size+ks[to].last-ks[to].first < mostCode); to++ {
			size += ks[to].last - ks[to].first + 1
		}
		if err := f(ks[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func byUnit(ks []*Kernel) map[int64]*Kernel {
	of := map[int64]*Kernel{}
	for _, k := range ks {
		of[k.unit] = k
	}
	return of
}

// launchesOf makes the table u: launches with the number of the kernel, or of
// the launch alone, that they are analysed with. Values stand in the text, so
// that Evidence.Query is a query to copy.
func (t *origin) launchesOf() {
	where := "g.kind = '" + datasets.KindKernel + "'"
	if t.opt.Run != 0 {
		where += fmt.Sprintf(" AND g.run_id = %d", t.opt.Run)
	}
	if t.opt.Kernel != "" {
		where += fmt.Sprintf(" AND %s IN (g.short, g.raw)", literals([]string{t.opt.Kernel}))
	}
	if t.opt.Launch != 0 {
		where += fmt.Sprintf(" AND l.id = %d", t.opt.Launch)
	}
	unit := ""
	if t.opt.ByLaunch {
		unit = ", l.id"
	}
	t.u = `WITH u AS (SELECT l.id AS launch, l.sequence, g.run_id AS run, g.short, g.raw,
		dense_rank() OVER (ORDER BY g.run_id, g.raw` + unit + `) AS unit
		FROM launch l JOIN region g ON g.id = l.region_id WHERE ` + where + `)`
}

// within is the condition that a row of the table code is among those that
// kernels have samples of, as far as this is known.
func within(column string, ks []*Kernel) string {
	type span struct{ first, last int64 }
	var spans []span
	ks = slices.Clone(ks)
	slices.SortFunc(ks, func(a, b *Kernel) int { return cmp.Compare(a.first, b.first) })
	for _, k := range ks {
		if n := len(spans); n > 0 && k.first <= spans[n-1].last+1 {
			spans[n-1].last = max(spans[n-1].last, k.last)
			continue
		}
		spans = append(spans, span{k.first, k.last})
	}
	text := fmt.Sprintf("%s BETWEEN %d AND %d", column, spans[0].first, spans[len(spans)-1].last)
	if len(spans) == 1 {
		return text
	}
	or := make([]string, len(spans))
	for i, s := range spans {
		or[i] = fmt.Sprintf("%s BETWEEN %d AND %d", column, s.first, s.last)
	}
	return text + " AND (" + strings.Join(or, " OR ") + ")"
}

// with is the common part of queries about some kernels: the tables u, s (the
// samples that count, with the code that they count for) and c (code).
func (t *origin) with(ks []*Kernel) string {
	units := make([]string, len(ks))
	for i, k := range ks {
		units[i] = fmt.Sprint(k.unit)
	}
	where := append(slices.Clone(t.where), "u.unit IN ("+strings.Join(units, ", ")+")", within("p.code_id", ks))
	filter := strings.Join(where, " AND ")
	if !t.chains {
		return t.u + `, s AS NOT MATERIALIZED (SELECT u.unit, p.launch_id AS launch, p.code_id AS code, p.reason, p.samples, p.not_issued
			FROM pc_sample p JOIN u ON u.launch = p.launch_id WHERE ` + filter + `),
		c AS NOT MATERIALIZED (SELECT id, region_id, isa, "offset", opcode, text, file, line FROM code WHERE ` + within("id", ks) + `)`
	}
	// Rows of one instruction, one for each function that it is inlined into. A
	// tool counts a sample for the innermost, for the outermost, or for each of
	// them: then those whose code has samples of a deeper row beside them are the
	// same ones again. This is decided by kernel and not by launch, so that what
	// must be remembered grows with the code and not with the samples; but
	// launches that have samples of outermost rows alone, where others have those
	// of deeper ones, were counted in another way and are a group of their own.
	// The ends of a chain are found by numbers of depth and id together, which
	// takes less than to sort the code.
	scope := `region_id IN (SELECT DISTINCT region_id FROM code WHERE ` + within("id", ks) + `)`
	with := t.u + fmt.Sprintf(`, body AS NOT MATERIALIZED (SELECT id, run_id, region_id, isa, "offset", coalesce(inline_depth, 0) AS depth FROM code WHERE %[1]s),
		ends AS NOT MATERIALIZED (SELECT run_id, region_id, isa, "offset", max(depth * %[2]d + id) %% %[2]d AS deepest, %[2]d - 1 - min(depth * %[2]d + %[2]d - 1 - id) %% %[2]d AS outermost
			FROM body WHERE "offset" IS NOT NULL AND isa <> 'source' GROUP BY ALL),
		chain AS NOT MATERIALIZED (SELECT b.id, b.depth, coalesce(e.deepest, b.id) AS deepest, coalesce(e.outermost, b.id) AS outermost FROM body b
			LEFT JOIN ends e ON e.run_id = b.run_id AND e.region_id = b.region_id AND e.isa = b.isa AND e."offset" = CASE WHEN b.isa <> 'source' THEN b."offset" END)`, scope, int64(1)<<40)
	way, join := "0", ""
	with += `, depths AS NOT MATERIALIZED (SELECT u.unit, p.launch_id AS launch, max(h.depth) AS depth
		FROM pc_sample p JOIN u ON u.launch = p.launch_id JOIN chain h ON h.id = p.code_id AND h.deepest <> h.outermost WHERE ` + filter + ` GROUP BY u.unit, p.launch_id)`
	if slices.ContainsFunc(ks, func(k *Kernel) bool { return k.mixed }) {
		way, join = "coalesce(least(d.depth, 1), 1)", " LEFT JOIN depths d ON d.launch = p.launch_id"
	}
	samples := ` FROM pc_sample p JOIN u ON u.launch = p.launch_id` + join + ` WHERE ` + filter
	with += `, home AS NOT MATERIALIZED (SELECT unit, way, id, deepest FROM (SELECT a.unit, a.way, a.id, h.deepest, h.depth, max(h.depth) OVER (PARTITION BY a.unit, a.way, h.deepest) AS most
			FROM (SELECT DISTINCT u.unit, ` + way + ` AS way, p.code_id AS id` + samples + `) a JOIN chain h ON h.id = a.id) WHERE depth = most),
		s AS NOT MATERIALIZED (SELECT t.unit, t.launch, h.deepest AS code, t.reason, t.samples, t.not_issued
			FROM (SELECT u.unit, ` + way + ` AS way, p.launch_id AS launch, p.code_id AS code, p.reason, p.samples, p.not_issued` + samples + `) t
			JOIN home h ON h.unit = t.unit AND h.way = t.way AND h.id = t.code)`
	if t.opt.View == Outermost {
		return with + `, c AS NOT MATERIALIZED (SELECT c.id, c.region_id, c.isa, c."offset", c.opcode, c.text, o.file, o.line FROM code c JOIN chain h ON h.id = c.id JOIN code o ON o.id = h.outermost)`
	}
	return with + `, c AS NOT MATERIALIZED (SELECT id, region_id, isa, "offset", opcode, text, file, line FROM code WHERE ` + scope + `)`
}

func literals(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "'" + strings.ReplaceAll(n, "'", "''") + "'"
	}
	return strings.Join(quoted, ", ")
}

// stalled is the condition that a sample is none of "selected".
func (t *origin) stalled() string {
	if len(t.issued) == 0 {
		return "true"
	}
	return "reason NOT IN (" + literals(t.issued) + ")"
}
