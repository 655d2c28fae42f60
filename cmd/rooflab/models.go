package main

// The engines that train models, linked once for all cells.
import (
	_ "github.com/rooflab/rooflab/modeling/regress/gomlx"
)
