package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/collectors/opencl/generate"
	"github.com/rooflab/rooflab/datasets"
)

func init() { register(generateCommand) }

func generateCommand() *cobra.Command {
	var o generate.Options
	var store string
	c := &cobra.Command{
		Use:   "generate --store STORE --kernels N",
		Short: "Make OpenCL kernels from a seed and time them, to learn from",
		Long: `Make OpenCL kernels from a seed (maps, stencils, reductions, scans, dense and
sparse products, sorting steps, searches, random compositions, ...) with launches
whose arguments are within bounds, and time them on this machine's OpenCL device,
into a store. No two kernels are the same but for names. Kernels that the store
has already are not measured again: after Ctrl-C or a crash the same command goes
on. Measure with nothing else running.

Each kernel is a run; its attribute source.path begins with its pattern.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Kernels <= 0 {
				return errors.New("--kernels says how many kernels to make, above 0")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
			defer stop()
			s, err := datasets.Open(store)
			if err != nil {
				return err
			}
			o.Log = cmd.ErrOrStderr()
			r, err := generate.Measure(ctx, s, o)
			if err = errors.Join(err, s.Close()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d kernels measured (%d of them failed), %d were there\n", r.Measured, r.Failed, r.There)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&store, "store", "", "the store to write to")
	f.IntVar(&o.Kernels, "kernels", 0, "how many `kernels` of the seed, from the first on")
	f.Uint64Var(&o.Seed, "seed", 1, "another `seed` makes other kernels")
	f.IntVar(&o.Launches, "launches", 5, "configurations of a kernel at most")
	f.IntVar(&o.Repeats, "repeats", 5, "timed executions of a configuration")
	f.Float64Var(&o.Settle, "settle", 0.02, "time a configuration again, up to 5 times as often, until the relative standard error of its median is at most this `fraction`; 0 does not")
	f.IntVar(&o.Batch, "batch", 20, "kernels that are stored at once")
	f.StringVar(&o.Platform, "platform", "", "take a platform whose name contains this `text`")
	f.StringVar(&o.Device, "device", "", "take a device whose name contains this `text`")
	f.DurationVar(&o.Timeout, "timeout", 0, "how long one launch or build may take (1m)")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}
