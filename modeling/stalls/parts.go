package stalls

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mostCode is about how much code is looked at together. To group samples by
// code, line and reason takes memory for each of them: a store with more code
// is read in parts, kernel by kernel. Samples of a kernel name code that was
// written together, so that the store skips most of what is of other parts.
const mostCode = 100_000

// unitCode is between which rows of the table code those of a unit lie.
type unitCode struct{ unit, first, last int64 }

// parted fills lines, types and instructions, part by part.
func (r *reader) parted() error {
	slices.SortFunc(r.parts, func(a, b unitCode) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.unit, b.unit)) })
	all, total := r.with, int64(0)
	for _, p := range r.parts {
		total += p.last - p.first + 1
	}
	for from := 0; from < len(r.parts); {
		part := r.parts[from]
		var units []string
		r.now = nil
		size := int64(0)
		to := from
		for ; to < len(r.parts) && (size == 0 || size < mostCode); to++ {
			p := r.parts[to]
			units, r.now = append(units, fmt.Sprint(p.unit)), append(r.now, p.unit)
			size += p.last - p.first + 1
			part.first, part.last = min(part.first, p.first), max(part.last, p.last)
		}
		if size < total {
			of := fmt.Sprintf("BETWEEN %d AND %d", part.first, part.last)
			r.with = r.tables("u.unit IN ("+strings.Join(units, ", ")+") AND p.code_id "+of, "id "+of)
		}
		for _, step := range []func() error{r.lines, r.types, r.code, r.reasons} {
			if err := step(); err != nil {
				return err
			}
		}
		from = to
	}
	r.with = all
	return nil
}
