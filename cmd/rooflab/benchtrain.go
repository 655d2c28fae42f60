package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/internal/bench/training"
)

func init() { registerBench(benchTrainCommand) }

func benchTrainCommand() *cobra.Command {
	var serve bool
	var models []string
	r := training.Race{}
	c := &cobra.Command{
		Use:   "train",
		Short: "Time and memory of a training step: against PyTorch on the CPU",
		Long: `Trains the same models from the same weights in rooflab on XLA's CPU plugin and
in PyTorch's eager mode, a few steps of each in turn. PyTorch is installed from
PyPI when first needed, into a virtual environment in the user's cache: some
5 GB, most of it NVIDIA's libraries, which PyPI's wheels for Linux ask for.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if serve {
				return serveTraining(cmd, args)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			if len(args) > 0 || r.Rounds < 1 || r.Threads < 1 {
				return fmt.Errorf("bench train: arguments %q, --rounds %d, --threads %d: want none, and 1 at least", args, r.Rounds, r.Threads)
			}
			var err error
			if r.Architectures, err = architectures(models); err != nil {
				return fmt.Errorf("bench train: %w", err)
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the path of this program: %w", err)
			}
			r.Ours = []string{self, "bench", "train", "--serve"}
			r.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "bench train:", line) }
			rep, err := r.Run(ctx)
			if err != nil {
				return fmt.Errorf("bench train: %w", err)
			}
			return writeReport(cmd, rep)
		},
	}
	c.Flags().IntVar(&r.Rounds, "rounds", 15, "how often the sides take turns")
	c.Flags().IntVar(&r.Threads, "threads", runtime.NumCPU(), "threads of each side")
	c.Flags().Uint64Var(&r.Seed, "seed", 1, "seed of weights and batches")
	c.Flags().StringSliceVar(&models, "model", nil, "`NAME`s of models to train: "+strings.Join(architectureNames(), ", ")+" (default all)")
	c.Flags().BoolVar(&serve, "serve", false, "be our side: MODEL SEED FILE")
	_ = c.Flags().MarkHidden("serve")
	return c
}

func architectureNames() []string {
	var names []string
	for _, a := range training.Architectures() {
		names = append(names, a.Name)
	}
	return names
}

// architectures are those of these names; all of them for none.
func architectures(names []string) ([]training.Architecture, error) {
	all := training.Architectures()
	if len(names) == 0 {
		return all, nil
	}
	var out []training.Architecture
	for _, name := range names {
		i := slices.IndexFunc(all, func(a training.Architecture) bool { return a.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--model %s: there are %s", name, strings.Join(architectureNames(), ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// serveTraining is our side's process.
func serveTraining(cmd *cobra.Command, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("bench train --serve: %q, want MODEL SEED FILE", args)
	}
	a, err := architectures(args[:1])
	if err != nil {
		return fmt.Errorf("bench train: %w", err)
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("bench train: the seed: %w", err)
	}
	if err := training.Serve(a[0], seed, args[2], cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
		return fmt.Errorf("bench train: training %s: %w", a[0].Name, err)
	}
	return nil
}
