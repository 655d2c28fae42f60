package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

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
	var in installation
	c := &cobra.Command{
		Use:   "install",
		Short: "Install XLA's plugin for the CPU or for NVIDIA GPUs, checked before it is put in place",
		Long: fmt.Sprintf(`Install XLA's plugin, and try it by training a small model on it.

For the CPU (200 MB on disk) it is in the wheel %s %s of the Python package index,
for NVIDIA GPUs (--cuda auto, 13 or 12) in JAX's, with CUDA's libraries (2 to 3 GB to download).
The files are pinned by sha256: what has another is not installed. The index is PyPI, or the one
that pip is configured for. --from github takes GoMLX's own CPU plugin instead, for other
platforms too; its checksum is GitHub's word unless --sha256 gives one.

A download that was interrupted goes on when the command is run again. --dry-run shows what would
be downloaded; on a machine without network give each file as --wheel FILE.`, pjrt.CPU.Wheels[0].Name, pjrt.CPU.Wheels[0].Version),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// An interrupt says what a download may go on from.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return in.run(ctx, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&in.dir, "dir", "", "where to install (default "+backend.Dir()+")")
	c.Flags().StringVar(&in.from, "from", "index", "where the CPU plugin is from: index (pinned wheel) or github (GoMLX's release "+pjrt.Release+")")
	c.Flags().StringVar(&in.digest, "sha256", "", "with --from github: the checksum of the archive that is trusted")
	c.Flags().StringVar(&in.cuda, "cuda", "", "install for NVIDIA GPUs: 13, 12, or auto, which takes what the driver runs")
	c.Flags().BoolVar(&in.anyDriver, "no-driver-check", false, "with --cuda 13 or 12: install for another machine, without looking at the driver or trying the plugin")
	c.Flags().StringArrayVar(&in.wheels, "wheel", nil, "install from this file instead of downloading it (once for each)")
	c.Flags().StringVar(&in.index, "index", "", "package index (default PyPI, or the one of pip's configuration)")
	c.Flags().BoolVar(&in.dry, "dry-run", false, "list what would be downloaded, with sizes and checksums, and stop")
	return c
}

// installation is what `xla install` was asked for.
type installation struct {
	dir, from, digest, cuda, index string
	wheels                         []string
	anyDriver, dry                 bool
}

func (in installation) run(ctx context.Context, out io.Writer) error {
	if in.dir == "" {
		if in.dir = backend.Dir(); in.dir == "" {
			return errors.New("installing an XLA plugin: there is no home directory: give --dir")
		}
	}
	// A plugin is loaded by its absolute path.
	dir, err := filepath.Abs(in.dir)
	if err != nil {
		return fmt.Errorf("installing an XLA plugin: %w", err)
	}
	opt := pjrt.Options{Files: in.wheels, Index: in.index, Log: out, Verify: checkInChild}
	var path string
	switch {
	case in.from != "index" && in.from != "github":
		return fmt.Errorf("installing an XLA plugin: --from %s: want index or github", in.from)
	case in.from == "github" && (in.cuda != "" || len(in.wheels) > 0 || in.index != "" || in.dry):
		return errors.New("installing an XLA plugin: --from github is one file for the CPU: --cuda, --wheel, --index and --dry-run do not go with it")
	case in.from == "index" && in.digest != "":
		return errors.New("installing an XLA plugin: the wheels are pinned: --sha256 goes with --from github")
	case in.from == "github":
		path, err = pjrt.InstallRelease(ctx, pjrt.Release, in.digest, dir, opt)
	default:
		b := pjrt.CPU
		if in.cuda != "" {
			if b, err = in.bundle(ctx, out); err != nil {
				return fmt.Errorf("installing an XLA plugin: %w", err)
			}
			if in.anyDriver {
				opt.Verify = nil
			}
		}
		if in.dry {
			return list(out, b, dir)
		}
		path, err = pjrt.Install(ctx, b, dir, opt)
	}
	if err != nil {
		return err
	}
	if slices.Contains(backend.Plugins(), path) {
		return nil
	}
	if slices.Contains(backend.LeftOut(), path) {
		fmt.Fprintln(out, "it is used on machines with an NVIDIA GPU; this one has none")
		return nil
	}
	fmt.Fprintf(out, "%s is not searched: set PJRT_PLUGIN_LIBRARY_PATH=%s\n", dir, dir)
	return nil
}

// bundle is the one for CUDA that was asked for, if the driver can run it: gigabytes
// are not downloaded to find that out afterwards.
func (in installation) bundle(ctx context.Context, out io.Writer) (pjrt.Bundle, error) {
	known := map[string]pjrt.Bundle{"13": pjrt.CUDA13, "12": pjrt.CUDA12}
	b, ok := known[in.cuda]
	if !ok && in.cuda != "auto" {
		return b, fmt.Errorf("--cuda %s: want 13, 12 or auto", in.cuda)
	}
	if in.anyDriver {
		if !ok {
			return b, errors.New("--cuda auto looks at the driver: give 13 or 12 with --no-driver-check")
		}
		return b, nil
	}
	d, err := pjrt.FindDriver(ctx, pjrt.ThisSystem())
	if errors.Is(err, pjrt.ErrNoDriver) && in.dry && ok {
		fmt.Fprintf(out, "%v here\n", err)
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("%w: CUDA's plugin needs one; to install for another machine, give --cuda 13 or 12 with --no-driver-check", err)
	}
	fmt.Fprintf(out, "NVIDIA driver %s (%s)", d.Version, d.Source)
	for _, g := range d.GPUs {
		fmt.Fprintf(out, ", %s", g.Name)
	}
	fmt.Fprintln(out)
	if ok {
		return b, b.Fits(d)
	}
	return pjrt.CUDAFor(d)
}

// list is --dry-run.
func list(out io.Writer, b pjrt.Bundle, dir string) error {
	tw := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	var pending int64
	for _, w := range b.Wheels {
		p := pjrt.Pending(dir, w)
		pending += p
		note := ""
		if p < w.Size {
			note = fmt.Sprintf("%.1f MB are here", float64(w.Size-p)/1e6)
		}
		fmt.Fprintf(tw, "%s\t%.1f MB\tsha256 %s\t%s\n", w.File, float64(w.Size)/1e6, w.SHA256, note)
	}
	fmt.Fprintf(tw, "files: %d\t%.1f MB\tto download: %.1f MB\t\n", len(b.Wheels), float64(b.Size())/1e6, float64(pending)/1e6)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	fmt.Fprintf(out, "they would become %s\n", b.Place(dir))
	return nil
}

func xlaStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the plugins found and where models would train",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "searched: %s\n", backend.Searched())
			for _, p := range backend.Plugins() {
				about, err := backend.Probe(cmd.Context(), p)
				if err != nil {
					fmt.Fprintf(out, "broken:   %v\n", err)
					continue
				}
				fmt.Fprintf(out, "found:    %s (%s)\n", p, aboutPlugin(about))
			}
			for _, p := range backend.LeftOut() {
				fmt.Fprintf(out, "left out: %s (there is no NVIDIA device)\n", p)
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

// aboutPlugin is a line about a plugin that works.
func aboutPlugin(f backend.Facts) string {
	devices := fmt.Sprintf("%d devices", len(f.Devices))
	if len(f.Devices) == 1 {
		devices = "1 device"
	}
	return fmt.Sprintf("%s, PJRT C API %s, go-xla speaks %s; %s: %s", f.Platform, f.API(), f.Program, devices, strings.Join(f.Devices, ", "))
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
				return fmt.Errorf("checking the XLA plugin: there is none in %s: `rooflab xla install` gets one", backend.Searched())
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
