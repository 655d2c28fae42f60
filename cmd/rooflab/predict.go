package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/tabular"
)

func init() { register(predictCommand) }

// prediction is what `rooflab predict` is asked.
type prediction struct {
	source, kernel, global, local string
	args                          []string
	level                         float64
	backend                       string
	lines, asJSON                 bool
}

func predictCommand() *cobra.Command {
	var p prediction
	c := &cobra.Command{
		Use:   "predict DIR --source FILE --global N[,N[,N]]",
		Short: "Predict the run time of a launch with a trained model",
		Long: `Predict the run time of a launch of a kernel with the model in DIR, which
'rooflab train llmperf' made, for the device that it was trained on. Arguments are
given in order, all of them, each as an --arg, in the notation of 'rooflab collect opencl':

  rooflab predict model --source saxpy.cl --global 1048576 --local 64 \
    --arg n=int:1048576 --arg a=float:2 --arg x=buf:float:1048576:random(1):r --arg y=buf:float:1048576

What of the source could not be read, and what was assumed in its place, is noted:
the fewer notes, the more the prediction is worth. Files that it includes are not
read.

--lines shows which lines of the source the prediction rests on, with a model
that was trained with --alone.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return p.run(ctx, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&p.source, "source", "", "the `FILE` with the kernel")
	f.StringVar(&p.kernel, "kernel", "", "the kernel's `name`, where the file has several")
	f.StringVar(&p.global, "global", "", "work-items, as 1024 or 64,64")
	f.StringVar(&p.local, "local", "", "work-items of a group; none is the driver's choice")
	f.StringArrayVar(&p.args, "arg", nil, "an argument, `[NAME=]SPEC`")
	f.Float64Var(&p.level, "level", 0.9, "how often the interval is to hold the measured time")
	f.StringVar(&p.backend, "backend", "", "xla, go, or the best that is there")
	f.BoolVar(&p.lines, "lines", false, "show what the prediction rests on, by line")
	f.BoolVar(&p.asJSON, "json", false, "write JSON: seconds, low, high (null: without bound), level, model, notes")
	for _, name := range []string{"source", "global"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return c
}

func (p prediction) run(ctx context.Context, dir string, w, remarks io.Writer) error {
	source, err := os.ReadFile(p.source)
	if err != nil {
		return err
	}
	x := llmperf.Example{Source: string(source), Kernel: p.kernel}
	if x.Global, err = llmperf.Sizes(p.global); err != nil {
		return fmt.Errorf("--global: %w", err)
	}
	if x.Local, err = llmperf.Sizes(p.local); err != nil {
		return fmt.Errorf("--local: %w", err)
	}
	for _, spec := range p.args {
		a, err := llmperf.ParseArgument(spec)
		if err != nil {
			return err
		}
		x.Args = append(x.Args, a)
	}
	x, notes, err := llmperf.Check(x)
	if err != nil {
		return fmt.Errorf("%s: %w", p.source, err)
	}
	f, err := llmperf.Load(dir, p.backend)
	if err != nil {
		return err
	}
	out, err := llmperf.Predict(ctx, f, x, p.level)
	if err != nil {
		return err
	}
	if p.asJSON {
		bound := func(v float64, none bool) any {
			if none {
				return nil
			}
			return v
		}
		return json.NewEncoder(w).Encode(map[string]any{"seconds": out.Value, "low": bound(out.Low, out.Low == 0), "high": bound(out.High, math.IsInf(out.High, 1)),
			"level": p.level, "model": f.Describe().Detail, "notes": append([]string{}, notes...)})
	}
	for _, n := range notes {
		if _, err := fmt.Fprintln(remarks, "note: "+n); err != nil {
			return err
		}
	}
	interval := fmt.Sprintf("with %s between %s and %s", tabular.Percent(p.level), tabular.Quantity(out.Low, "s"), tabular.Quantity(out.High, "s"))
	if math.IsInf(out.High, 1) {
		interval = fmt.Sprintf("without an interval: in training too few kernels were held out for one with %s", tabular.Percent(p.level))
	}
	if _, err := fmt.Fprintf(w, "%s, %s\n", tabular.Quantity(out.Value, "s"), interval); err != nil || !p.lines {
		return err
	}
	m, ok := f.Model.(*llmperf.Model)
	if !ok {
		return errors.New("--lines: boosted trees are a part of this model, and they cannot say which lines their predictions rest on: train the transformer with --alone for that")
	}
	a, err := m.Attribute(ctx, x)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s\n", a)
	return err
}
