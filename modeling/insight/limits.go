package insight

import (
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// readLimits takes the ceilings that the user named, and says so.
func (sc *scope) readLimits(ctx context.Context) (note string, err error) {
	var from []string
	if id := sc.opt.Ceilings; id != 0 {
		if _, _, _, err := readRun(ctx, sc.store, id); err != nil {
			return "", fmt.Errorf("taking ceilings: %w", err)
		}
		of, err := roofline.CeilingsOf(ctx, sc.store, id)
		if err != nil {
			return "", err
		}
		if len(of.Bandwidth) == 0 && len(of.Peak) == 0 {
			return "", fmt.Errorf(`the machine of run %d has no ceilings to compare with: rooflab query "SELECT DISTINCT run.id FROM run JOIN ceiling USING (machine_id)" lists runs that have`, id)
		}
		sc.limits.Ceilings = of
		from = append(from, fmt.Sprintf("the machine of run %d", id))
	}
	if sc.opt.Device != "" {
		d, err := devices.Find(sc.opt.Device)
		if err != nil {
			return "", err
		}
		sc.limits.Ceilings = sc.limits.Ceilings.Or(roofline.Of(d))
		from = append(from, d.Name+" (device table)")
	}
	if from == nil {
		return "", nil
	}
	return "Ceilings that the profile does not give are, as asked, those of " + strings.Join(from, ", then of ") + ".", nil
}

// nameLimits says, where the ceiling of DRAM is what a roofline lacks and the
// user named none, that ceilings can be named.
func (sc *scope) nameLimits(r roofline.Result) string {
	if sc.opt.Device != "" || sc.opt.Ceilings != 0 || !r.Traffic[roofline.DRAM].Rate.OK || r.Traffic[roofline.DRAM].Ceiling.OK {
		return ""
	}
	return "; ceilings can be named (--device NAME, or --ceilings RUN)"
}

// namedRows are the ceilings of the run that the user named, as a source.
func (sc *scope) namedRows(ctx context.Context) ([]Source, error) {
	id := sc.opt.Ceilings
	if id == 0 {
		return nil, nil
	}
	r, machine, _, err := readRun(ctx, sc.store, id)
	if err != nil {
		return nil, err
	}
	other := scope{store: sc.store, run: r}
	rows := other.ceilingRows(ctx, machine)
	return other.source(rows, int64(len(rows))), nil
}

// ceilingRows are a machine's rows of ceilings.
func (sc *scope) ceilingRows(ctx context.Context, machine int64) []Row {
	var out []Row
	// An error here would have been one of the roofline's before.
	_ = sc.store.Each(ctx, func(v []any) { out = append(out, Row{Table: "ceiling", Metric: v[0].(string)}) },
		"SELECT DISTINCT level FROM ceiling WHERE machine_id = ? ORDER BY level", machine)
	return out
}
