package llmperf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/datasets"
)

// FromParquet is FromStore for a folder of Parquet files that a store was
// exported to, as the data set rooflab-opencl (datasets/generated) is one. It
// goes through a store of its own in the folder for temporary files, which is
// gone afterwards.
func FromParquet(ctx context.Context, dir string) (xs []Example, err error) {
	tmp, err := os.MkdirTemp("", "rooflab-kernels-")
	if err != nil {
		return nil, fmt.Errorf("reading kernels from %s: %w", dir, err)
	}
	defer os.RemoveAll(tmp)
	store, err := datasets.Open(filepath.Join(tmp, "store.db"))
	if err != nil {
		return nil, fmt.Errorf("reading kernels from %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := store.ImportParquet(ctx, dir); err != nil {
		return nil, err
	}
	return FromStore(ctx, store, datasets.Filter{})
}
