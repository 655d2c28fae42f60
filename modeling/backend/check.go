package backend

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Check runs x*x + x for x = 3 through a backend: a plugin that loads but whose
// programs do not compile or come back wrong must not train a model.
func Check(b compute.Backend) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a small program panicked: %v", r)
		}
	}()
	builder := b.Builder("rooflab-check")
	f := builder.Main()
	x, err := f.Parameter("x", shapes.Make(dtypes.Float32, 1), nil)
	if err != nil {
		return err
	}
	square, err := f.Mul(x, x)
	if err != nil {
		return err
	}
	sum, err := f.Add(square, x)
	if err != nil {
		return err
	}
	if err := f.Return([]compute.Value{sum}, nil); err != nil {
		return err
	}
	exec, err := builder.Compile()
	if err != nil {
		return err
	}
	defer exec.Finalize()
	in, err := b.BufferFromFlatData(0, []float32{3}, shapes.Make(dtypes.Float32, 1))
	if err != nil {
		return err
	}
	out, err := exec.Execute([]compute.Buffer{in}, nil, 0)
	if err != nil {
		return err
	}
	got := make([]float32, 1)
	if err := out[0].ToFlatData(got); err != nil {
		return err
	}
	if got[0] != 12 {
		return fmt.Errorf("3*3 + 3 came back as %v", got[0])
	}
	return nil
}
