package main

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/internal/bench/imports"
)

func init() { registerBench(benchImportCommand) }

func benchImportCommand() *cobra.Command {
	var ncu, trace float64
	r := imports.Race{}
	c := &cobra.Command{
		Use:   "import",
		Short: "Import generated profiles: against pandas, Thicket, and bounds on memory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			if ncu <= 0 || trace <= 0 || r.Caliper < 1 || r.Rounds < 1 || r.PeerCaliper < 0 {
				return fmt.Errorf("bench import: sizes, numbers of files and rounds must be positive")
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the path of this program: %w", err)
			}
			r.Ours, r.NCUBytes, r.TraceBytes = self, int64(ncu*1e6), int64(trace*1e6)
			r.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "bench import:", line) }
			rep, err := r.Run(ctx)
			if err != nil {
				return fmt.Errorf("bench import: %w", err)
			}
			return writeReport(cmd, rep)
		},
	}
	c.Flags().Float64Var(&ncu, "ncu", 1000, "size in `MB` of the Nsight Compute CSV")
	c.Flags().IntVar(&r.Caliper, "caliper", 10000, "number of Caliper files")
	c.Flags().IntVar(&r.PeerCaliper, "thicket", 500, "number of them that Thicket reads, its time scaled up to all (0: all of them, which takes very long)")
	c.Flags().Float64Var(&trace, "trace", 2000, "size in `MB` of the Chrome trace")
	c.Flags().IntVar(&r.Rounds, "rounds", 2, "how often each side runs")
	c.Flags().Uint64Var(&r.Seed, "seed", 1, "seed of the generated profiles")
	return c
}
