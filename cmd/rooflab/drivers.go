package main

// The engines, formats and renderers that the binary brings along, for its own
// commands and for the session host: cells and the packages below know only
// their thin APIs.
import (
	_ "github.com/rooflab/rooflab/collectors/all"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	_ "github.com/rooflab/rooflab/datasets/generated"
	_ "github.com/rooflab/rooflab/datasets/recorded"
	_ "github.com/rooflab/rooflab/kernel/display/rich"
	_ "github.com/rooflab/rooflab/modeling/backend/engines"
)
