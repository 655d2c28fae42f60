package nsys

import (
	"context"

	"github.com/rooflab/rooflab/collectors"
)

func detectCSV(h collectors.Head) collectors.Confidence { return collectors.No }

func parseCSV(ctx context.Context, in *collectors.Input, out *collectors.Output) error { return nil }
