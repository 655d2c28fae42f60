package stalls

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/rooflab/rooflab/datasets"
)

// maxCodes is how many rows of the table code a line names.
const maxCodes = 16

// FromStore analyses the PC samples of kernels. The store adds them up, so
// that memory grows with what is kept and not with samples, launches or code;
// while it does, the engine's threads and its memory (blocks of the file that
// it would keep among it) are bounded.
//
// The table of samples is gone through three times. What comes first finds the
// kernels, and how much they stall. For the most stalled ones (Options.Kernels)
// the second finds lines and instructions, and the third tells why those that
// are kept wait, which could be told at once only if reasons were added up for
// all code. Where kernels have much code these two are done in parts, each of
// which skips most of the samples of the others. Inlined code, and lines of
// source that are sampled beside instructions, take one or two more to find
// what counts twice.
func FromStore(ctx context.Context, s *datasets.Store, opt Options) (a *Analysis, err error) {
	if opt.View != Innermost && opt.View != Outermost {
		return nil, fmt.Errorf("analysing stalls: no view %d: there are stalls.Innermost and stalls.Outermost", int(opt.View))
	}
	defer func() {
		if err != nil {
			a, err = nil, fmt.Errorf("analysing the stalls of %s: %w", s.Path(), err)
		}
	}()
	restore, err := bound(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	r := &reader{ctx: ctx, origin: &origin{s: s, opt: opt}}
	r.launchesOf()
	a = &Analysis{Options: opt}
	if err := r.kernels(a); err != nil || len(a.Kernels) == 0 {
		return a, err
	}
	if err := r.twice(a.Kernels); err != nil {
		return nil, err
	}
	if err := r.totals(a.Kernels); err != nil {
		return nil, err
	}
	sort.SliceStable(a.Kernels, func(i, j int) bool { return a.Kernels[i].Stalled() > a.Kernels[j].Stalled() })
	a.Options = r.opt
	if err := r.load(a.Kernels[:min(len(a.Kernels), r.opt.Kernels)]); err != nil {
		return nil, err
	}
	a.notes(r)
	return a, nil
}

// Load reads the lines, instructions, types and launches of a kernel that
// FromStore left at its sums (Options.Kernels). The store must be open. For a
// kernel that has them it does nothing.
func (k *Kernel) Load(ctx context.Context) (err error) {
	if k.loaded {
		return nil
	}
	if k.from == nil {
		return fmt.Errorf("reading the lines of kernel %s: it does not come from a store", k.Name)
	}
	restore, err := bound(ctx, k.from.s)
	if err == nil {
		err = errors.Join((&reader{ctx: ctx, origin: k.from}).load([]*Kernel{k}), restore())
	}
	if err != nil {
		return fmt.Errorf("reading the lines of kernel %s in %s: %w", k.Name, k.from.s.Path(), err)
	}
	return nil
}

// Loaded reports whether the kernel has its lines, instructions, types and
// launches, and not only its sums.
func (k *Kernel) Loaded() bool { return k.loaded }

// origin is the samples of an analysis in their store.
type origin struct {
	s       *datasets.Store
	opt     Options
	u       string   // the query of the table u: launches with the number of their unit
	where   []string // conditions of samples that count
	spelled []string // the store's names of reasons, sorted
	issued  []string // spellings of "selected"
	skip    []string // reasons whose rows are the not-issued part of others
	chains  bool     // there is code that is inlined into other code
	repeats bool     // there are samples of lines beside those of instructions
}

// reader fills kernels.
type reader struct {
	ctx context.Context
	*origin
}

// each runs a query and calls f for each row.
func (r *reader) each(query string, f func(v []any)) error {
	return r.s.Each(r.ctx, f, query)
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
func (r *reader) kernels(a *Analysis) error {
	units := map[int64]*Kernel{}
	reasons := map[string]bool{}
	err := r.each(r.u+` SELECT unit, reason, count(*), sum(samples)::BIGINT, sum(not_issued)::BIGINT, sum(bytes)::BIGINT, count(*) FILTER (WHERE samples IS NULL), min(code_id), max(code_id) FROM
		(SELECT u.unit, p.code_id, p.reason, p.samples, p.not_issued, `+digits("p.code_id")+` + strlen(p.reason) + `+digits("p.samples")+` + `+digits("p.not_issued")+` + 4 AS bytes
			FROM pc_sample p JOIN u ON u.launch = p.launch_id)
		GROUP BY unit, reason ORDER BY unit, reason`, func(v []any) {
		id, reason := whole(v[0]), word(v[1])
		k := units[id]
		if k == nil {
			k = &Kernel{from: r.origin, unit: id, first: whole(v[7]), last: whole(v[8]), spelled: map[string][]string{}}
			units[id] = k
			a.Kernels = append(a.Kernels, k)
		}
		k.first, k.last = min(k.first, whole(v[7])), max(k.last, whole(v[8]))
		k.RawRows += whole(v[2])
		k.RawBytes += whole(v[5])
		k.Uncounted += whole(v[6])
		k.raw = append(k.raw, Count{reason, whole(v[3]), maybe(v[4])})
		k.Repeated += whole(v[3]) // less what is counted, in totals
		reasons[reason] = true
		if !datasets.Selected(reason) {
			k.spelled[Canonical(reason)] = append(k.spelled[Canonical(reason)], reason)
		}
	})
	if err != nil || len(units) == 0 {
		return err
	}
	r.reasons(reasons)
	r.opt = r.opt.filled(len(units))
	err = r.each(r.u+` SELECT unit, any_value(run), min(short), any_value(raw) FROM u GROUP BY unit`, func(v []any) {
		if k := units[whole(v[0])]; k != nil {
			k.Run, k.Name, k.Raw, k.dominant = whole(v[1]), word(v[2]), word(v[3]), r.opt.Dominant
		}
	})
	if err != nil {
		return err
	}
	return r.each(r.u+` SELECT unit, launch, sequence FROM u WHERE launch IN (SELECT DISTINCT launch_id FROM pc_sample) ORDER BY unit, sequence NULLS LAST, launch`, func(v []any) {
		k := units[whole(v[0])]
		if k == nil {
			return
		}
		if k.LaunchCount++; k.LaunchCount <= r.opt.Launches {
			k.launches = append(k.launches, Launch{ID: whole(v[1]), Sequence: maybe(v[2])})
		}
		if r.opt.ByLaunch {
			k.Launch = whole(v[1])
		}
	})
}

// reasons finds which spellings of reasons are samples that others hold as
// well, and which are none of a stall.
func (r *reader) reasons(known map[string]bool) {
	var skip []string
	r.spelled = slices.Sorted(maps.Keys(known))
	for _, reason := range r.spelled {
		// "x (not issued)" is a part of x where x is there as well.
		if notIssuedOnly(reason) {
			for other := range known {
				if !notIssuedOnly(other) && key(other) == key(reason) {
					skip = append(skip, reason)
					break
				}
			}
		}
		if datasets.Selected(reason) {
			r.issued = append(r.issued, reason)
		}
	}
	if len(skip) > 0 {
		r.where = append(r.where, "p.reason NOT IN ("+literals(skip)+")")
	}
	r.skip = skip
}

// twice finds out whether the store has samples more than once.
func (r *reader) twice(ks []*Kernel) error {
	code := fmt.Sprintf("id BETWEEN %d AND %d", slices.MinFunc(ks, func(a, b *Kernel) int { return int(a.first - b.first) }).first, slices.MaxFunc(ks, func(a, b *Kernel) int { return int(a.last - b.last) }).last)
	sourced := false
	err := r.each(`SELECT EXISTS (SELECT 1 FROM code WHERE `+code+` AND inline_depth > 0 AND "offset" IS NOT NULL AND isa <> 'source')::BIGINT,
		EXISTS (SELECT 1 FROM code WHERE `+code+` AND isa = 'source')::BIGINT`, func(v []any) { r.chains, sourced = whole(v[0]) == 1, whole(v[1]) == 1 })
	if err != nil || !sourced {
		return err
	}
	lines, other := false, false
	err = r.each(r.u+` SELECT DISTINCT p.code_id IN (SELECT id FROM code WHERE isa = 'source') FROM pc_sample p JOIN u ON u.launch = p.launch_id`, func(v []any) {
		is, _ := v[0].(bool)
		lines, other = lines || is, other || !is
	})
	if lines && other {
		// Where a launch has samples of instructions, those of lines are the same.
		r.repeats = true
		r.where = append(r.where, `(p.code_id NOT IN (SELECT id FROM code WHERE isa = 'source') OR p.launch_id NOT IN
			(SELECT DISTINCT launch_id FROM pc_sample WHERE code_id NOT IN (SELECT id FROM code WHERE isa IN ('source', 'machine'))))`)
	}
	return err
}

// totals are the sums of kernels: those that were found first, or, where
// samples are there more than once, those of the ones that count.
func (r *reader) totals(ks []*Kernel) error {
	if !r.chains && !r.repeats {
		for _, k := range ks {
			for _, c := range k.raw {
				if !slices.Contains(r.skip, c.Reason) {
					k.add(c.Reason, c.Samples, c.NotIssued)
				}
			}
		}
	} else {
		err := parted(ks, func(part []*Kernel) error {
			of := byUnit(part)
			if r.chains {
				err := r.each(r.with(part)+` SELECT unit FROM depths GROUP BY unit HAVING min(depth) = 0 AND max(depth) > 0`, func(v []any) { of[whole(v[0])].mixed = true })
				if err != nil {
					return err
				}
			}
			return r.each(r.with(part)+` SELECT unit, reason, `+sums+` FROM s GROUP BY unit, reason ORDER BY unit, reason`, func(v []any) {
				of[whole(v[0])].add(word(v[1]), whole(v[2]), maybe(v[3]))
			})
		})
		if err != nil {
			return err
		}
	}
	for _, k := range ks {
		k.raw = nil
		k.sort()
		k.Repeated -= k.Samples
	}
	return nil
}

// notes says what a reader must know.
func (a *Analysis) notes(r *reader) {
	var repeated, uncounted, stalled, left int64
	bare := 0
	for _, k := range a.Kernels {
		repeated += k.Repeated
		uncounted += k.Uncounted
		stalled += k.Stalled()
		if !k.loaded {
			bare++
			left += k.Stalled()
		}
	}
	if bare > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("of the %d least stalled kernels, with %s of the stalls, the lines are not read: Kernel.Load does, or a larger Options.Kernels", bare, percent(part(left, stalled))))
	}
	if repeated > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d samples are in the store more than once (for lines beside instructions, or for functions that code is inlined into) and count once", repeated))
	}
	if uncounted > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d rows give only the samples of cycles without an issue; all samples of these rows are not known and left out", uncounted))
	}
	if a.Options.View == Outermost && !r.chains {
		a.Notes = append(a.Notes, "the profile does not say what code is inlined into: lines are those of the instructions")
	}
}
