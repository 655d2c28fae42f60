package insight

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rooflab/rooflab/datasets"
)

// Verify looks up in a store everything that a report cites: each row of each
// source must be there, its file must be the run's, and each query must return
// the item's value, to rounding. It returns all that is wrong, joined.
func (r *Report) Verify(ctx context.Context, s *datasets.Store) error {
	var wrong []error
	ids := map[string]bool{}
	for _, i := range r.Items {
		if ids[i.ID] {
			wrong = append(wrong, fmt.Errorf("%s: two items have this id", i.ID))
		}
		ids[i.ID] = true
		for _, err := range i.verify(ctx, s) {
			wrong = append(wrong, fmt.Errorf("%s (%s, %s): %w", i.ID, i.Kind, i.Rule, err))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return errors.Join(wrong...)
}

func (i Item) verify(ctx context.Context, s *datasets.Store) (wrong []error) {
	if len(i.Sources) == 0 {
		wrong = append(wrong, errors.New("it cites no source"))
	}
	for _, src := range i.Sources {
		if len(src.Rows) == 0 {
			wrong = append(wrong, fmt.Errorf("its source in run %d names no row", src.Run))
		}
		n, err := number(ctx, s, fmt.Sprintf("SELECT count(*) FROM artefact WHERE run_id = %d AND path = %s AND sha256 = %s", src.Run, literal(src.Path), literal(src.SHA256)))
		if err != nil || n == 0 {
			wrong = append(wrong, errors.Join(fmt.Errorf("run %d did not come from %q with this sum", src.Run, src.Path), err))
		}
		for _, row := range src.Rows {
			if n, err := number(ctx, s, row.Query(src.Run)); err != nil || n == 0 {
				wrong = append(wrong, errors.Join(fmt.Errorf("no row of run %d is %+v", src.Run, row), err))
			}
		}
	}
	v, err := number(ctx, s, i.Query)
	if err != nil {
		return append(wrong, err)
	}
	if math.IsNaN(v) || math.Abs(v-i.Value) > 1e-6*math.Max(math.Abs(v), math.Abs(i.Value)) {
		wrong = append(wrong, fmt.Errorf("the query gives %g and the item says %g: %s", v, i.Value, i.Query))
	}
	return wrong
}
