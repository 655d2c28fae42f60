package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/dtensor"
	gtrain "github.com/gomlx/gomlx/ml/train"
)

// devices share the examples of each batch evenly; every one has all weights.
type devices struct {
	whole *distributed.ShardingSpec // the same on each device
	mesh  *distributed.DeviceMesh
	n     int
}

func spread(b compute.Backend, n int) (*devices, error) {
	if have := b.NumDevices(); have < n {
		return nil, fmt.Errorf("data parallel over %d devices, the backend has %d (%s); XLA's CPU plugin has as many as asked for: Backend \"xla:cpu,devices=%d\"",
			n, have, b.Description(), n)
	}
	mesh, err := distributed.NewDeviceMesh([]int{n}, []string{"examples"})
	if err != nil {
		return nil, err
	}
	return &devices{distributed.NewReplicatedShardingSpec(mesh), mesh, n}, nil
}

func (d *devices) strategy() distributed.Strategy { return distributed.AutoSharding }

// shard splits inputs and labels along their first axis, but for the last
// input, the optimiser's, which all devices get.
func (d *devices) shard(in, labels []*tensors.Tensor) (b gtrain.DistributedBatch, err error) {
	split := func(t *tensors.Tensor, spec *distributed.ShardingSpec) (*dtensor.Tensor, error) {
		defer func() { _ = t.FinalizeAll() }()
		return dtensor.ShardTensor(spec, t)
	}
	for i, t := range in {
		spec := d.whole
		if i < len(in)-1 {
			if spec, err = d.rows(t.Rank()); err != nil {
				return b, err
			}
		}
		s, err := split(t, spec)
		if err != nil {
			return b, err
		}
		b.Inputs = append(b.Inputs, s)
	}
	for _, t := range labels {
		spec, err := d.rows(t.Rank())
		if err != nil {
			return b, err
		}
		s, err := split(t, spec)
		if err != nil {
			return b, err
		}
		b.Labels = append(b.Labels, s)
	}
	return b, nil
}

func (d *devices) rows(rank int) (*distributed.ShardingSpec, error) {
	spec := distributed.BuildSpec(d.mesh).S("examples")
	for range rank - 1 {
		spec = spec.R()
	}
	return spec.Done()
}
