package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/llmperf"
	_ "github.com/rooflab/rooflab/modeling/llmperf/gomlx" // the engine
	"github.com/rooflab/rooflab/modeling/llmperf/ontrees"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/score"
	"github.com/rooflab/rooflab/modeling/train"
)

func init() { register(trainCommand) }

func trainCommand() *cobra.Command {
	c := &cobra.Command{Use: "train", Short: "Train a model of performance"}
	c.AddCommand(trainLLMPerfCommand())
	return c
}

func trainLLMPerfCommand() *cobra.Command {
	var o llmperf.Options
	var store, out string
	var test float64
	var alone bool
	c := &cobra.Command{
		Use:   "llmperf --data STORE --out DIR",
		Short: "Train a transformer that predicts run times from the source of kernels",
		Long: `Train a model that predicts the run time of a launch from the kernel's source, its
arguments and sizes, on the timed kernels of a store (see 'rooflab generate'):
boosted trees on what the source is read to execute, and a transformer that
corrects them. With --alone it is the transformer alone, of 5M parameters and up
to 30 epochs unless flags say otherwise; it needs far more time and examples.
Whole kernels are held out for the test, whose figures are printed, for the
intervals of predictions, and with --alone for early stopping.

With --init it begins with a pre-trained language model, a GGUF or safetensors
file or a folder with one (Llama, Mistral, Qwen2, SmolLM2), which brings its
shape and tokenizer. All of it learns, or with --freeze only what is above its
lowest layers: what these make of a launch is computed once. On a processor

  rooflab train llmperf --data STORE --out DIR --alone --init model.gguf --layers 6 --freeze 6

takes minutes: the lowest six layers as they are, under a new regression head.

DIR gets the model for 'rooflab predict', and DIR/checkpoints the transformer's
training: after Ctrl-C or a crash the same command with --resume goes on, to the
same model as if nothing had happened. Trees are not kept: they grow anew first.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
			defer stop()
			o.Train.Dir = checkpoints(out)
			o.Train.Progress = train.Live("LLMPerf")
			if o.Init != "" && !cmd.Flags().Changed("size") {
				o.Size = "" // the pre-trained model brings its own
			}
			// Trees take minutes, after which the network would say the same.
			if o.Size != "" {
				if _, err := llmperf.Size(o.Size); err != nil {
					return fmt.Errorf("--size: %w", err)
				}
			}
			if err := resumable(o); err != nil {
				return err
			}
			notice, err := backendNotice(o.Train.Backend)
			if err != nil {
				return err
			}
			if notice != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "note: "+notice)
			}
			var l predict.Learner = llmperf.Learner{Options: o}
			if !alone {
				l = ontrees.New(onTrees(o, cmd.Flags().Changed))
			}
			return trainLLMPerf(ctx, store, out, test, o.Seed, l, cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&store, "data", "", "the `store` with timed kernels")
	f.StringVar(&out, "out", "", "the folder for the model, `DIR`")
	f.BoolVar(&alone, "alone", false, "train the transformer alone, without trees that it corrects")
	f.StringVar(&o.Size, "size", "", "parameters: "+strings.Join(llmperf.SizeNames(), ", ")+"; without it 5M alone, and a third of a million on trees")
	f.StringVar(&o.Init, "init", "", "begin with the pre-trained model in this file or folder, `PATH`")
	f.IntVar(&o.Layers, "layers", 0, "use only the `N` lowest layers of it; 0 is all")
	f.IntVar(&o.Freeze, "freeze", 0, "leave the `N` lowest of these, and the embeddings, as they are; -1 is all")
	f.IntVar(&o.LoRA, "lora", 0, "in the others learn additions of `RANK` to the projections of queries and values (LoRA) instead of their weights")
	f.Uint64Var(&o.Seed, "seed", 1, "`seed` of splits, weights and order")
	f.IntVar(&o.Context, "context", 512, "`tokens` of a launch at most; longer sources are cut")
	f.BoolVar(&o.Text, "text", false, "learn from the text alone, without counts of operations found in it")
	f.Float64Var(&test, "test", 0.2, "`fraction` of the launches, in whole kernels, for the test")
	f.IntVar(&o.Train.Epochs, "epochs", 0, "passes over the launches at most; 0 is 30 alone, and few on trees")
	f.IntVar(&o.Train.Steps, "steps", 0, "steps at most; 0 is as many as the epochs have")
	f.IntVar(&o.Train.Batch, "batch", 32, "launches in a step")
	f.StringVar(&o.Train.Backend, "backend", "", "xla, go, or the best that is there")
	f.Float64Var(&o.Train.Rate, "rate", 0, "learning `rate` at its peak; 0 is one for the size")
	f.BoolVar(&o.Train.Resume, "resume", false, "go on from the checkpoints in DIR")
	for _, name := range []string{"data", "out"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return c
}

// onTrees are the options of a network that corrects trees: what flags do not say
// is what ontrees finds right.
func onTrees(o llmperf.Options, said func(flag string) bool) ontrees.Options {
	all := ontrees.Small()
	small := all.Network
	if o.Size == "" && o.Init == "" {
		o.Config = small.Config
	}
	if o.Train.Epochs == 0 {
		o.Train.Epochs = small.Train.Epochs
	}
	if o.Train.Rate == 0 && o.Size == "" {
		o.Train.Rate = small.Train.Rate
	}
	if !said("context") {
		o.Train.Buckets = small.Train.Buckets
	}
	o.Vocab, o.Dropout, o.Relative, o.Validation = small.Vocab, small.Dropout, small.Relative, small.Validation
	all.Network = o
	return all
}

// checkpoints is the folder for those of a model in out.
func checkpoints(out string) string { return filepath.Join(out, "checkpoints") }

// resumable looks at the checkpoints that are there, before trees take minutes
// after which the network would say the same.
func resumable(o llmperf.Options) error {
	last, err := train.LastFile(o.Train.Dir)
	if err != nil {
		return nil //nolint:nilerr // there is none: the run begins anew
	}
	if !o.Train.Resume {
		return fmt.Errorf("%s holds checkpoints of an earlier run (%s): go on from there with --resume, or take another --out", o.Train.Dir, filepath.Base(last))
	}
	_, record, err := train.ReadState(last)
	if err != nil {
		return fmt.Errorf("--resume: %w\nremove that file to go on from an earlier checkpoint, or from the beginning where there is none", err)
	}
	if record.Settings.Seed != o.Seed {
		return fmt.Errorf("--resume: %s is of a run with --seed %d, now it is %d", last, record.Settings.Seed, o.Seed)
	}
	return nil
}

// backendNotice opens the backend that the network is to be trained on, which no
// one shall wait minutes for to hear that it is missing, and says what is second
// best about it.
func backendNotice(config string) (string, error) {
	if config != "" {
		_, err := backend.Open(config)
		return "", err
	}
	c, err := backend.Default()
	if err != nil {
		return "", err
	}
	return c.Notice, nil
}

func trainLLMPerf(ctx context.Context, store, out string, test float64, seed uint64, l predict.Learner, w io.Writer) error {
	s, err := datasets.Open(store, datasets.ReadOnly)
	if err != nil {
		return err
	}
	xs, err := llmperf.FromStore(ctx, s, datasets.Filter{})
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	e, err := llmperf.Table(xs)
	if err != nil {
		return err
	}
	p, err := split.Groups(e.Groups, split.Options{Test: test, Seed: seed})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(checkpoints(out), 0o755); err != nil { // not after trees took minutes
		return fmt.Errorf("--out: %w", err)
	}
	fitted, err := predict.Conformal{Learner: l, Fraction: 0.1}.Fit(ctx, e.Rows(p.Train), seed)
	if errors.Is(err, context.Canceled) {
		if last, none := train.LastFile(checkpoints(out)); none == nil {
			return fmt.Errorf("%w\nthe same command with --resume goes on from %s", err, last)
		}
		return fmt.Errorf("%w\nthere is no checkpoint yet: the same command begins anew", err)
	} else if err != nil {
		return err
	}
	f, ok := fitted.(*predict.Fitted)
	if !ok {
		return fmt.Errorf("the predictor is a %T", fitted)
	}
	if err := llmperf.Save(out, f); err != nil {
		return fmt.Errorf("%w\nthe same command with --resume makes the model again from the last checkpoint", err)
	}
	held := e.Rows(p.Test)
	const level = 0.9
	predictions, err := f.Predict(ctx, held, level)
	if err != nil {
		return err
	}
	scored := score.Predictions{Measured: held.Y, Group: held.Groups}
	band := score.Band{Level: level}
	bounded := true
	for _, x := range predictions {
		scored.Predicted = append(scored.Predicted, x.Value)
		band.Low, band.High = append(band.Low, x.Low), append(band.High, x.High)
		bounded = bounded && !math.IsInf(x.High, 1)
	}
	if bounded { // else the description warns that too few kernels were held out for intervals
		scored.Bands = []score.Band{band}
	}
	report, err := score.Evaluate("LLMPerf", scored, score.Resampling{Seed: seed})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%d launches of %d kernels that nothing was fitted to (%s)", held.Len(), report.Groups, p)
	_, err = fmt.Fprintf(w, "%s\n%s\n%s\n", f, score.Table(title, report), out)
	return err
}
