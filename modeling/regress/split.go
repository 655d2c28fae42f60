package regress

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// parts are disjoint rows; no group stands in two of them.
type parts struct{ train, calibration, test []int }

// splitRows deals whole groups, in an order drawn from the seed, to test until
// it has its fraction of the rows, then to calibration, the rest to training.
// Every part gets at least one group.
func splitRows(groups []string, opt Options) (parts, error) {
	if !(opt.Test > 0) || !(opt.Calibration > 0) || opt.Test+opt.Calibration >= 1 {
		return parts{}, fmt.Errorf("fractions for test %g and calibration %g: both must be positive and leave rows for training", opt.Test, opt.Calibration)
	}
	rows := map[string][]int{}
	var names []string
	for r, g := range groups {
		if rows[g] == nil {
			names = append(names, g)
		}
		rows[g] = append(rows[g], r)
	}
	if len(names) < 3 {
		return parts{}, fmt.Errorf("%d groups in column %q (%q): training, calibration and test need one each at least; "+
			"with RandomRows rows of one group stand on all sides", len(names), opt.Group, names)
	}
	slices.Sort(names) // the order of rows must not matter
	rng := rand.New(rand.NewPCG(opt.Seed, 0x73706c6974))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var p parts
	for i, g := range names {
		left := len(names) - i // groups not dealt yet, this one included
		switch n := float64(len(groups)); {
		case len(p.test) == 0 || float64(len(p.test)) < opt.Test*n && left > 2:
			p.test = append(p.test, rows[g]...)
		case len(p.calibration) == 0 || float64(len(p.calibration)) < opt.Calibration*n && left > 1:
			p.calibration = append(p.calibration, rows[g]...)
		default:
			p.train = append(p.train, rows[g]...)
		}
	}
	for _, part := range []*[]int{&p.train, &p.calibration, &p.test} {
		slices.Sort(*part)
	}
	return p, nil
}
