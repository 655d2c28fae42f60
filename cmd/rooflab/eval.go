package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

func init() { register(evalCommand) }

func evalCommand() *cobra.Command {
	var asJSON, quick bool
	var seed uint64
	var out string
	c := &cobra.Command{
		Use:   "eval [NAME]",
		Short: "Run a published evaluation again",
		Long: `Run a published evaluation again. Each result names its split, its baseline and
a 95 % interval; the record (--json, --out) has the seed, hashes of all files
read, versions and the machine as well. Without NAME the evaluations are listed.

Data sets are looked for below $` + registry.Env + `, then in the cache;
'rooflab datasets fetch NAME' gets one that is missing.

The evaluations are:

` + listEvaluations("  "),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := io.WriteString(cmd.OutOrStdout(), listEvaluations(""))
				return err
			}
			e, err := evaluation.Lookup(args[0])
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return runEvaluation(ctx, e, evaluation.Options{Seed: seed, Quick: quick}, out, asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write the record as JSON")
	c.Flags().BoolVar(&quick, "quick", false, "leave out what takes longer than some minutes, such as training a large network")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of all that is drawn")
	c.Flags().StringVar(&out, "out", "", "write the record to this `FILE` as well, as JSON; what takes long is kept beside it, in FILE.steps, and the same command goes on from there")
	return c
}

// listEvaluations is the names with what they evaluate.
func listEvaluations(indent string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range evaluation.All() {
		fmt.Fprintf(t, "%s%s\t%s\n", indent, e.Name, e.Doc)
	}
	if err := t.Flush(); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

func runEvaluation(ctx context.Context, e evaluation.Evaluation, o evaluation.Options, out string, asJSON bool, stdout, stderr io.Writer) (err error) {
	var record *os.File
	if out != "" { // what cannot be written is better known before the work than after
		if record, err = os.Create(out); err != nil {
			return fmt.Errorf("creating the record of %s: %w", e.Name, err)
		}
		defer func() {
			err = errors.Join(err, record.Close())
			if err != nil {
				err = errors.Join(err, os.Remove(out)) // half a record is none
			}
		}()
	}
	if out != "" {
		o.Dir = out + ".steps" // made by those that use it
	}
	var said time.Time
	last := ""
	o.Machine = host.Machine()
	o.Import = func(ctx context.Context, s *datasets.Store, path string) (int64, error) {
		sum, err := collectors.ImportFile(ctx, s, path, collectors.Options{})
		if err != nil {
			return 0, err
		}
		return sum.Run(), nil
	}
	o.Progress = func(what string, done, total int) {
		if what == last && done < total && time.Since(said) < 2*time.Second {
			return
		}
		said, last = time.Now(), what
		if total > 0 {
			fmt.Fprintf(stderr, "eval %s: %s: %d of %d\n", e.Name, what, done, total)
		} else {
			fmt.Fprintf(stderr, "eval %s: %s\n", e.Name, what)
		}
	}
	r, err := evaluation.Run(ctx, e, o)
	if err != nil {
		return err
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(stderr, "warning:", w)
	}
	if record != nil {
		if err := r.WriteJSON(record); err != nil {
			return fmt.Errorf("writing the record of %s: %w", e.Name, err)
		}
	}
	if asJSON {
		return r.WriteJSON(stdout)
	}
	_, err = fmt.Fprintln(stdout, r)
	return err
}
