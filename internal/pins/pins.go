// Package pins keeps the modules that cells use, but no package of ours
// imports, in go.mod at exact versions.
package pins

import (
	_ "github.com/duckdb/duckdb-go/v2"
	_ "github.com/ebitengine/purego"
	_ "github.com/go-gota/gota/dataframe"
	_ "github.com/go-zeromq/zmq4"
	_ "github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	_ "github.com/gomlx/go-xla/compute/xla"
	_ "github.com/gomlx/gomlx/core/graph"
	_ "github.com/gomlx/gomlx/ml/train"
	_ "github.com/gomlx/gomlx/ml/train/optimizer"
	_ "github.com/gomlx/gomlx/ui/gonb/plotly"
	_ "github.com/google/pprof/profile"
	_ "github.com/ianlancetaylor/demangle"
	_ "github.com/janpfeifer/gonb/gonbui"
	_ "github.com/janpfeifer/gonb/gonbui/plotly"
	_ "github.com/peterh/liner"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/perf/benchfmt"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/plot"
	_ "gonum.org/v1/plot/vg/vgimg"
	_ "gonum.org/v1/plot/vg/vgsvg"
	_ "google.golang.org/protobuf/encoding/protowire"
	_ "modernc.org/sqlite"
)
