// Package recorded is a data set that rooflab measured itself, to learn from:
// times of OpenCL kernels on a CPU and exact instruction counts of programs in
// C, over sizes, work-group sizes and build options, each with its source and
// its static features. README.md describes what is in it and the command that
// records it again. It is linked into what imports this package; out flows a
// folder of Parquet files, or rows in a store.
package recorded

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/registry"
)

// Name is the data set's name among those that rooflab knows.
const Name = "rooflab-pocl"

//go:embed pocl
var files embed.FS

// Sources are the kernels (kernels/*.cl), the programs (programs/*.c) and the
// job that measured the kernels (pocl.json).
//
//go:embed kernels programs pocl.json
var Sources embed.FS

func init() {
	registry.Register(registry.Set{Name: Name, Licence: "Apache-2.0", Embedded: files, Root: "pocl",
		About:    "26 OpenCL kernels in 233 configurations timed on a CPU by PoCL, 14 programs in C counted by Valgrind, with sources and static features",
		Note:     "recorded in a virtual machine, which shares its host: take the fastest launch of a configuration",
		Page:     "https://github.com/rooflab/rooflab/tree/main/datasets/recorded",
		Citation: "rooflab, datasets/recorded"})
}

// Import brings the data set into a store; a store that has it already stays
// as it is.
func Import(ctx context.Context, store *datasets.Store) (datasets.ParquetImport, error) {
	dir, err := os.MkdirTemp("", "rooflab-recorded-*")
	if err != nil {
		return datasets.ParquetImport{}, fmt.Errorf("unpacking the data set %s: %w", Name, err)
	}
	defer os.RemoveAll(dir)
	if err := Extract(dir); err != nil {
		return datasets.ParquetImport{}, err
	}
	return store.ImportParquet(ctx, dir)
}

// Extract writes the data set's Parquet files and their manifest into a folder,
// which is made where it is not there.
func Extract(dir string) error {
	fail := func(err error) error { return fmt.Errorf("unpacking the data set %s to %s: %w", Name, dir, err) }
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fail(err)
	}
	entries, err := fs.ReadDir(files, "pocl")
	if err != nil {
		return fail(err)
	}
	for _, e := range entries {
		b, err := fs.ReadFile(files, path.Join("pocl", e.Name()))
		if err != nil {
			return fail(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o666); err != nil {
			return fail(err)
		}
	}
	return nil
}
