package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/internal/bench"
	"github.com/rooflab/rooflab/internal/bench/kernels"
	"github.com/rooflab/rooflab/internal/stockgonb"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

// benches collects the constructors of the benchmarks, as commands does of the
// subcommands.
var benches []func() *cobra.Command

// registerBench adds a benchmark to `rooflab bench`.
func registerBench(c func() *cobra.Command) { benches = append(benches, c) }

func init() {
	register(benchCommand)
	registerBench(benchKernelCommand)
}

func benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure rooflab against named peers, in the same run",
		Long: `Each benchmark runs ours and a named peer in the same run and prints the ratio
ours / peer: lower is better.`,
	}
	c.PersistentFlags().Bool("json", false, "write the results as JSON")
	for _, b := range benches {
		c.AddCommand(b())
	}
	return c
}

// writeReport writes what a benchmark found as its flags ask.
func writeReport(cmd *cobra.Command, rep *bench.Report) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		return rep.WriteJSON(cmd.OutOrStdout())
	}
	return rep.WriteTable(cmd.OutOrStdout())
}

func benchKernelCommand() *cobra.Command {
	var limit time.Duration
	var megabytes int64
	c := &cobra.Command{
		Use:   "kernel",
		Short: "The same cells through rooflab and through stock GoNB " + stockgonb.Version,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			if megabytes < 1 {
				return fmt.Errorf("--table %d: the table needs at least 1 MB", megabytes)
			}
			race, err := kernelRace(ctx, cmd.ErrOrStderr())
			if err != nil {
				return fmt.Errorf("bench kernel: %w", err)
			}
			race.Time, race.TableBytes = limit, megabytes*1e6
			rep, err := race.Run(ctx)
			if err != nil {
				return fmt.Errorf("bench kernel: %w", err)
			}
			return writeReport(cmd, rep)
		},
	}
	c.Flags().DurationVar(&limit, "time", 2*time.Minute, "how long to start new rounds; two are always run")
	c.Flags().Int64Var(&megabytes, "table", 100, "size in `MB` of the table that a cell loads")
	return c
}

// kernelRace finds or builds what the race needs.
func kernelRace(ctx context.Context, out io.Writer) (*kernels.Race, error) {
	root, err := toolchain.SourceRoot()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the path of this program: %w", err)
	}
	gonb, err := stockgonb.Build(ctx, out)
	if err != nil {
		return nil, err
	}
	return &kernels.Race{
		Ours: kernels.Kernel{Name: "rooflab", Command: []string{self, "kernel", "--connection-file"}},
		Peer: kernels.Kernel{
			Name: "GoNB " + stockgonb.Version, Command: []string{gonb.Binary, "--kernel"},
			// As its users run it: no experiments, no workspace. Without a proxy the
			// `go get` that it runs for each cell asks nobody for retracted versions:
			// the network's latency is not counted against it.
			Env: []string{"GOEXPERIMENT=", "GOWORK=off", "GOPROXY=off", "PATH=" + gonb.Tools + string(os.PathListSeparator) + os.Getenv("PATH")},
		},
		Root:     root,
		Progress: func(line string) { fmt.Fprintln(out, "bench kernel:", line) },
	}, nil
}
