package main

// The engines and formats that the binary brings along; cells and packages
// below know only their thin APIs.
import (
	_ "github.com/rooflab/rooflab/collectors/all"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)
