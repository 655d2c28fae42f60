package llmperf

import (
	"context"
	"fmt"

	"github.com/rooflab/rooflab/datasets"
)

// FromParquet is FromStore for a folder of Parquet files that a store was
// exported to, as the data set rooflab-opencl (datasets/generated) is one. It
// goes through a store of its own in the folder for temporary files, which is
// gone afterwards.
func FromParquet(ctx context.Context, dir string) (xs []Example, err error) {
	err = datasets.Temporary(func(store *datasets.Store) error {
		if _, err := store.ImportParquet(ctx, dir); err != nil {
			return err
		}
		xs, err = FromStore(ctx, store, datasets.Filter{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading kernels from %s: %w", dir, err)
	}
	return xs, nil
}
