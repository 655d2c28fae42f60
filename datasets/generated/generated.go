// Package generated is a data set that rooflab measured itself, to learn the
// time of kernels from their sources: 4,040 OpenCL kernels that `rooflab
// generate` made, in 20,200 configurations on a CPU, with every time of each.
// README.md describes what is in it and the commands that record it again. It is
// linked into what imports this package; out flows, by datasets/registry, a
// folder of Parquet files, for Store.ImportParquet or llmperf.FromParquet.
package generated

import (
	"embed"

	"github.com/rooflab/rooflab/datasets/registry"
)

// Name is the data set's name among those that rooflab knows.
const Name = "rooflab-opencl"

//go:embed opencl
var files embed.FS

func init() {
	registry.Register(registry.Set{Name: Name, Licence: "Apache-2.0", Embedded: files, Root: "opencl",
		About:    "4,040 generated OpenCL kernels of 19 patterns in 20,200 configurations, each timed 5 to 25 times on a CPU by PoCL, with sources and arguments",
		Note:     "recorded in a busy virtual machine: half of the configurations scatter by more than 2.8 %; take the median of a configuration's times",
		Page:     "https://github.com/rooflab/rooflab/tree/main/datasets/generated",
		Citation: "rooflab, datasets/generated"})
}
