package devmap

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

// launch is a row of the data set: a kernel on one of its inputs.
type launch struct {
	kernel, source string
	program        string             // the benchmark that the kernel is of, all of its inputs
	static         map[string]float64 // Grewe's counts over the text of the kernel
	transfer       float64            // bytes to and from the GPU
	group          float64            // work-items of a work-group; the table has 0 in places
	cpu, gpu       float64            // run times, those of the GPU with the transfer; their unit is not told
}

// static are the names of Grewe's counts.
var static = []string{"comp", "rational", "mem", "localmem", "coalesced", "atomic"}

// program is a kernel's name without what follows the last hyphen.
var program = regexp.MustCompile(`^(.*)-[^-]+$`)

// read imports the data set into a store of its own and reads its rows, in
// their order.
func read(ctx context.Context, o evaluation.Options, dir string) (ls []launch, err error) {
	err = datasets.Temporary(func(store *datasets.Store) error {
		if _, err := o.Import(ctx, store, filepath.Join(dir, file)); err != nil {
			return err
		}
		ls, err = launches(ctx, store)
		return err
	})
	return ls, err
}

// launches are the rows of a store that the data set was imported into.
func launches(ctx context.Context, store *datasets.Store) (ls []launch, err error) {
	counts := map[int64]map[string]float64{}
	err = store.Each(ctx, func(v []any) {
		region := v[0].(int64)
		if counts[region] == nil {
			counts[region] = map[string]float64{}
		}
		counts[region][v[1].(string)] = number(v[2])
	}, `SELECT region_id, name, value FROM static_feature`)
	if err != nil {
		return nil, err
	}
	err = store.Each(ctx, func(v []any) {
		l := launch{kernel: v[1].(string), static: counts[v[0].(int64)], group: number(v[3]), transfer: number(v[4]), cpu: number(v[5]), gpu: number(v[6])}
		l.source, _ = v[2].(string)
		l.program = l.kernel
		if m := program.FindStringSubmatch(l.kernel); m != nil {
			l.program = m[1]
		}
		ls = append(ls, l)
	}, `SELECT r.id, r.raw, c.text, l.block_x, t.value, p.value, g.value FROM launch l JOIN region r ON r.id = l.region_id
		LEFT JOIN code c ON c.region_id = r.id AND c.isa = 'source'
		LEFT JOIN counter t ON t.launch_id = l.id AND t.metric = 'transfer'
		LEFT JOIN counter p ON p.launch_id = l.id AND p.metric = 'runtime_cpu'
		LEFT JOIN counter g ON g.launch_id = l.id AND g.metric = 'runtime_gpu'
		ORDER BY l.sequence`)
	if err != nil {
		return nil, err
	}
	for i, l := range ls {
		if l.source == "" || !(l.cpu > 0) || !(l.gpu > 0) {
			return nil, fmt.Errorf("row %d, %s: a source of %d bytes, run times %g and %g: want a source and positive times", i+1, l.kernel, len(l.source), l.cpu, l.gpu)
		}
	}
	if len(ls) == 0 {
		return nil, errors.New("there are no rows")
	}
	return ls, nil
}

// number is a value of the store, NaN for NULL.
func number(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	return math.NaN()
}
