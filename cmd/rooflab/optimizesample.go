package main

import (
	"cmp"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/agents/suite"
)

// optimizeSampleCommand lists the targets that rooflab brings, and writes one.
func optimizeSampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sample [NAME [DIR]]",
		Short: "List the programs that rooflab brings to be optimized, or write one",
		Long: `List the programs that rooflab brings to be optimized: its suite, kernels and proxy
applications with room for improvement. With a NAME, write that one's sources and
description into a folder, NAME where no DIR is given. Then optimize it:

  rooflab optimize sample stencil
  rooflab optimize stencil/stencil.toml`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
				for _, name := range suite.Names() {
					about, err := suite.About(name)
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\n", name, about)
				}
				return w.Flush()
			}
			dir := args[0]
			if len(args) > 1 {
				dir = cmp.Or(args[1], ".")
			}
			path, err := suite.Write(args[0], dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\noptimize it with: rooflab optimize %s\n", path, path)
			return nil
		},
	}
}
