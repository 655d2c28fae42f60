// Package data holds profiles that rooflab recorded of its own kernels (package
// ../kernels) on one machine, which their globals name. They are Caliper files
// of less than 200 kB together, linked into what imports the package, so that
// notebooks find them wherever they run.
//
//	ceilings   the rates that probes reach: the roofs of a roofline
//	large      seven kernels at a size that caches do not hold
//	sweep      every kernel at twelve sizes, to learn from
//
// Record them again, on your machine, with
//
//	GOEXPERIMENT=simd go run ./notebooks/data/record -o notebooks/data
package data

import (
	"context"
	"embed"
	"fmt"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

//go:embed *.cali
var files embed.FS

// Import imports the recording of a name ("ceilings", "large" or "sweep") into
// a store. Summary.Run says which run it became.
func Import(ctx context.Context, store *datasets.Store, name string) (collectors.Summary, error) {
	f, err := files.Open(name + ".cali")
	if err != nil {
		return collectors.Summary{Path: name}, fmt.Errorf("there is no recording %q; there are ceilings, large and sweep", name)
	}
	defer f.Close()
	return collectors.Import(ctx, store, "notebooks/data/"+name+".cali", f, collectors.Options{})
}
