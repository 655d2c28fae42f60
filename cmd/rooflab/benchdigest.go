package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/modeling/stalls/generated"
)

func init() { registerBench(benchDigestCommand) }

func benchDigestCommand() *cobra.Command {
	var megabytes float64
	var of string
	var shapes []string
	r := digestRace{}
	c := &cobra.Command{
		Use:   "digest",
		Short: "Digest generated PC samples: against bounds on memory and on the digest's size",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			if of != "" {
				d, err := generated.Digest(ctx, of)
				if err != nil {
					return fmt.Errorf("bench digest: %w", err)
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			}
			if megabytes < 1 || r.Rounds < 1 {
				return fmt.Errorf("bench digest: --samples %g, --rounds %d: both must be 1 at least", megabytes, r.Rounds)
			}
			var err error
			if r.Shapes, err = digestShapes(shapes); err != nil {
				return fmt.Errorf("bench digest: %w", err)
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the path of this program: %w", err)
			}
			r.Ours, r.Bytes = []string{self, "bench", "digest", "--of"}, int64(megabytes*1e6)
			r.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "bench digest:", line) }
			rep, err := r.Run(ctx)
			if err != nil {
				return fmt.Errorf("bench digest: %w", err)
			}
			return writeReport(cmd, rep)
		},
	}
	c.Flags().Float64Var(&megabytes, "samples", 1000, "size in `MB` of the samples as CSV")
	c.Flags().IntVar(&r.Rounds, "rounds", 1, "how often each table is digested")
	c.Flags().Uint64Var(&r.Seed, "seed", 1, "seed of the generated samples")
	c.Flags().StringSliceVar(&shapes, "shape", nil, "`NAME`s of tables to digest: "+strings.Join(shapeNames(), ", ")+" (default all)")
	c.Flags().DurationVar(&r.Within, "within", 5*time.Minute, "time after which no further table is begun")
	c.Flags().StringVar(&of, "of", "", "digest this `STORE` and say what it took, as JSON")
	return c
}

func shapeNames() []string {
	var names []string
	for _, s := range generated.Shapes() {
		names = append(names, s.Name)
	}
	return names
}

// digestShapes are the shapes of these names; all of them for none.
func digestShapes(names []string) ([]generated.Shape, error) {
	all := generated.Shapes()
	if len(names) == 0 {
		return all, nil
	}
	var out []generated.Shape
	for _, name := range names {
		i := slices.IndexFunc(all, func(s generated.Shape) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--shape %s: there are %s", name, strings.Join(shapeNames(), ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}
