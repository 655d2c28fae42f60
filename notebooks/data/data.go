// Package data holds profiles that rooflab recorded itself. They are linked into
// what imports the package, so that notebooks find them wherever they run.
//
// Import brings those of its own kernels (package ../kernels), measured on one
// machine, which their globals name, in Caliper files:
//
//	ceilings   the rates that probes reach: the roofs of a roofline
//	large      seven kernels at a size that caches do not hold
//	sweep      every kernel at twelve sizes, to learn from
//
// Heat brings those of a program in C (heat/heat.c), before and after a change,
// as several collectors saw it on one machine.
//
// Record them again, on your machine, with
//
//	GOEXPERIMENT=simd go run ./notebooks/data/record -o notebooks/data
//	notebooks/data/heat/record.sh
package data

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"

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

// HeatSource is the text of the program that Heat has profiles of.
//
//go:embed heat/heat.c
var HeatSource string

//go:embed heat/recorded
var heat embed.FS

// Heat imports the profiles of the program heat into a store: ceilings of the
// machine, static features, Callgrind's counts at six sizes, times of repeated
// runs, samples of perf. What was measured is the command of each run, "./heat N
// STEPS columns" before the change and "./heat N STEPS rows" after it.
func Heat(ctx context.Context, store *datasets.Store) error {
	dir, err := os.MkdirTemp("", "rooflab-heat-*")
	if err != nil {
		return fmt.Errorf("unpacking the recording heat: %w", err)
	}
	defer os.RemoveAll(dir)
	recorded, err := fs.Sub(heat, "heat/recorded")
	if err == nil {
		err = os.CopyFS(dir, recorded)
	}
	if err != nil {
		return fmt.Errorf("unpacking the recording heat to %s: %w", dir, err)
	}
	_, err = store.ImportParquet(ctx, dir)
	return err
}
