package main

import (
	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/collectors/opencl"
)

func init() { register(newOpenCLCmd) }

// newOpenCLCmd is the process in which OpenCL kernels run, so that a crash of
// theirs, or of a driver, ends nothing else.
func newOpenCLCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "opencl-child",
		Short:  "Run OpenCL kernels (started by rooflab collect opencl, not by hand)",
		Hidden: true,
		Args:   cobra.NoArgs,
		Run:    func(*cobra.Command, []string) { opencl.Serve() },
	}
}
