package main

// The engines that the session host serves to cells: a cell imports only the
// thin API, the heavy driver behind it is linked here, once.
import (
	_ "github.com/rooflab/rooflab/kernel/display/rich"
)
