package kerneltuner

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// names are the keys of an object in order.
// parseT1 reads the description of a tuning problem. It holds no measurement:
// the run is empty, and everything it says is an attribute of the kernel, under
// its path: "ConfigurationSpace.TuningParameters.block_size_x.Values".
func parseT1(_ context.Context, in *collectors.Input, out *collectors.Output) error {
	t := newTuning(in, out, formatT1)
	ps, err := t.pairs("the file")
	if err != nil {
		return err
	}
	if err := t.end(); err != nil {
		return err
	}
	for _, p := range ps {
		if m, ok := p.value.(map[string]any); ok {
			if k, ok := m["KernelName"].(string); ok && k != "" {
				t.kernel = k
			}
		}
		if err := t.flatten(p.key, p.value); err != nil {
			return err
		}
	}
	t.run.Status, t.run.Error = datasets.RunEmpty, "the description of a tuning problem, which holds no measurement"
	return t.finish()
}

// flatten emits a value under its path; members of a list go by their Name,
// else by their number.
func (t *tuning) flatten(path string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, n := range slices.Sorted(maps.Keys(v)) {
			if err := t.flatten(path+"."+n, v[n]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		objects := len(v) > 0
		for _, e := range v {
			if _, ok := e.(map[string]any); !ok {
				objects = false
			}
		}
		for i, e := range v {
			if !objects {
				break
			}
			label := strconv.Itoa(i)
			if s, ok := e.(map[string]any)["Name"].(string); ok && s != "" {
				label = s
			}
			if err := t.flatten(path+"."+label, e); err != nil {
				return err
			}
		}
		if objects {
			return nil
		}
	case nil:
		return nil
	}
	return t.attribute(regionID, 0, path, collectors.JSONText(v))
}
