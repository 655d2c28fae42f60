package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

func init() { register(newPrepareCmd) }

// newPrepareCmd does what the first cells would otherwise wait for.
func newPrepareCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare [PACKAGE...]",
		Short: "Compile what cells and collectors will need (make build does it): linker, usual packages, and PACKAGEs",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.MkdirTemp("", "rooflab-prepare-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			t, err := toolchain.New(dir, nil)
			if err != nil {
				return err
			}
			t.Progress = func(string) {
				fmt.Fprintln(cmd.ErrOrStderr(), "rooflab: compiling the packages that cells use most; with an empty build cache this takes a few minutes, once")
			}
			if err := t.Prepare(); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "rooflab:", err)
			}
			for _, c := range collectors.Collectors() {
				if c.Prepare == nil {
					continue
				}
				if err := c.Prepare(cmd.Context()); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "rooflab: collector %s: %v\n", c.Name, err)
				}
			}
			return t.Ensure(append(toolchain.Usual(), args...)...)
		},
	}
}
