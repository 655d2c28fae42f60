package doctor

import (
	"context"
	"fmt"
	"strings"
)

// xlaPlugin is about the plugin that is taken first: others are only named.
func xlaPlugin(_ context.Context, m Machine) Finding {
	details := struct {
		Searched string   `json:"searched"`
		Plugins  []Plugin `json:"plugins"`
	}{m.Binary.PluginPath, m.Binary.Plugins}
	if len(m.Binary.Plugins) == 0 {
		f := missing("no PJRT plugin in "+m.Binary.PluginPath, "`rooflab xla install` gets one for the CPU, `rooflab xla install --cuda auto` for NVIDIA cards; "+
			"one of your own is found through PJRT_PLUGIN_LIBRARY_PATH, which names its folder")
		f.Details = details
		return f
	}
	var lines []string
	for _, p := range m.Binary.Plugins {
		lines = append(lines, p.String())
	}
	f := ok("%s", strings.Join(lines, "; "))
	if first := m.Binary.Plugins[0]; first.Error != "" {
		fix := "`rooflab xla install` gets a CPU plugin that works"
		if first.cuda() {
			fix = "`rooflab xla install --cuda auto` gets a plugin that fits the driver, with its libraries"
		}
		f = broken(strings.Join(lines, "; "), fix+"; or take the file away")
	}
	f.Details = details
	return f
}

// String is a line for people.
func (p Plugin) String() string {
	if p.Error != "" {
		if strings.Contains(p.Error, p.Path) {
			return p.Error
		}
		return p.Path + ": " + p.Error
	}
	return fmt.Sprintf("%s (%s, PJRT C API %s, go-xla speaks %s, devices: %s)", p.Path, p.Platform, p.API, p.Program, strings.Join(p.Devices, " "))
}

func (p Plugin) cuda() bool { return strings.Contains(strings.ToLower(p.Path), "cuda") }

// xlaOnGPU is about the driver and the plugin that it can run.
func xlaOnGPU(_ context.Context, m Machine) Finding {
	g := m.Binary.GPU
	switch {
	case g.NoDriver:
		return missing("no NVIDIA driver is loaded", "only for machines with an NVIDIA card: install NVIDIA's driver for it, then run `rooflab xla install --cuda auto`")
	case g.DriverErr != nil:
		return broken(g.DriverErr.Error(), "the driver and its tools must be of one version: reinstall the driver")
	}
	f := missing(fmt.Sprintf("driver %s runs CUDA %d, and there is no CUDA plugin in %s", g.Driver, g.CUDA, m.Binary.PluginPath),
		fmt.Sprintf("`rooflab xla install --cuda auto` (%.1f GB to download)", float64(g.Download)/1e9))
	if g.FitErr != nil {
		f = broken(g.FitErr.Error(), "update NVIDIA's driver, or train on the CPU")
	}
	for _, p := range m.Binary.Plugins {
		if p.cuda() {
			f = ok("driver %s; %s", g.Driver, p)
			if p.Error != "" {
				f = broken(fmt.Sprintf("driver %s; %s", g.Driver, p), "`rooflab xla install --cuda auto` gets a plugin that fits the driver, with its libraries")
			}
			break
		}
	}
	f.Details = g
	return f
}

// modelBackend says where models train now, and why.
func modelBackend(_ context.Context, m Machine) Finding {
	b := m.Binary.Models
	f := ok("%s", b.Why)
	switch {
	case b.Engine == "":
		f = broken(b.Why, "unset GOMLX_BACKEND, or name a backend that is there: xla, go")
	case b.Notice != "":
		f = missing(b.Why, b.Notice)
	}
	f.Details = b
	return f
}
