package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/internal/doctor"
	"github.com/rooflab/rooflab/internal/lab"
	"github.com/rooflab/rooflab/kernel/jupyter"
	"github.com/rooflab/rooflab/kernel/toolchain"
	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/backend/pjrt"
)

func init() { register(doctorCommand) }

func doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is there, what is missing and how to get it; exit status 1 if the kernel cannot run",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			report := doctor.Examine(ctx, doctor.Real(selfDescription(ctx)), doctor.Checks)
			var err error
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				enc.SetEscapeHTML(false)
				err = enc.Encode(report)
			} else {
				err = report.Print(cmd.OutOrStdout())
			}
			if err != nil {
				return fmt.Errorf("writing the report: %w", err)
			}
			if !report.KernelRuns {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// selfDescription is what only the binary knows: what it was built with and
// what is linked into it.
func selfDescription(ctx context.Context) doctor.Binary {
	b := doctor.Binary{
		GoVersion:  runtime.Version(),
		SQLDrivers: sql.Drivers(),
		Engines:    backend.Engines(),
		PluginPath: backend.Searched(),
	}
	for _, path := range backend.Plugins() {
		p := doctor.Plugin{Path: path}
		if f, err := backend.Probe(ctx, path); err != nil {
			p.Error = err.Error()
		} else {
			p.Platform, p.API, p.Program, p.Devices = f.Platform, f.API(), f.Program, f.Devices
		}
		b.Plugins = append(b.Plugins, p)
	}
	b.GPU = gpuDescription(ctx)
	if c, err := backend.Default(); err != nil {
		b.Models.Why = err.Error()
	} else {
		b.Models = doctor.Models{Engine: c.Engine, Plugin: c.Plugin, Why: c.Why, Notice: c.Notice}
	}
	b.SourceRoot, b.SourceErr = toolchain.SourceRoot()
	if dir, err := toolchain.CacheDir(); err == nil {
		b.CacheDir = dir // "" is reported as missing
	}
	if dir, err := jupyter.UserDataDir(); err == nil {
		b.SpecDirs = append(b.SpecDirs, dir)
	}
	if dir, err := lab.Dir(); err == nil {
		b.SpecDirs = append(b.SpecDirs, jupyter.PrefixDataDir(dir))
	}
	if l, why, found := lab.Find(ctx); found {
		b.JupyterLab = l.Version + ", " + l.Bin
	} else {
		b.NoJupyterLab = why
	}
	py, err := lab.FindPython(ctx)
	b.Python, b.PythonErr = fmt.Sprintf("%d.%d, %s", py.Major, py.Minor, py.Bin), err
	return b
}

// gpuDescription is the NVIDIA driver, and which plugin for CUDA fits it.
func gpuDescription(ctx context.Context) (g doctor.GPU) {
	d, err := pjrt.FindDriver(ctx, pjrt.ThisSystem())
	if err != nil {
		g.NoDriver, g.DriverErr = errors.Is(err, pjrt.ErrNoDriver), err
		return g
	}
	g.Driver = d.Version
	for _, each := range d.GPUs {
		g.Names = append(g.Names, each.Name)
	}
	b, err := pjrt.CUDAFor(d)
	g.CUDA, g.Download, g.FitErr = b.CUDA, b.Size(), err
	return g
}
