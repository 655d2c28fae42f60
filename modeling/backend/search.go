package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// Dir is where `rooflab xla install` puts plugins: ROOFLAB_XLA_DIR, or
// rooflab/pjrt below XDG_DATA_HOME (by default ~/.local/share).
func Dir() string {
	if d := os.Getenv("ROOFLAB_XLA_DIR"); d != "" {
		return d
	}
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "rooflab", "pjrt")
}

// pathVariable replaces the folders that are searched, as in GoMLX.
const pathVariable = "PJRT_PLUGIN_LIBRARY_PATH"

// SearchPath lists the directories that are searched for PJRT plugins, in
// order: those of PJRT_PLUGIN_LIBRARY_PATH alone when it is set (the habit of
// GoMLX), else Dir, ~/.local/lib/go-xla and /usr/local/lib/go-xla. CUDA's
// plugin, which is installed together with its libraries, is searched in the
// folder nvidia of each, too.
func SearchPath() []string {
	var dirs []string
	if path, ok := os.LookupEnv(pathVariable); ok {
		for _, d := range filepath.SplitList(path) {
			if d != "" {
				dirs = append(dirs, d)
			}
		}
		return dirs
	}
	if d := Dir(); d != "" {
		dirs = append(dirs, d)
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "lib", "go-xla"))
	}
	return append(dirs, "/usr/local/lib/go-xla")
}

// Searched is SearchPath for a message: it says where the folders are from when
// they are not the usual ones, and which of them are none.
func Searched() string {
	dirs := SearchPath()
	_, set := os.LookupEnv(pathVariable)
	if !set {
		return strings.Join(dirs, ", ")
	}
	if len(dirs) == 0 {
		return "no folder at all (" + pathVariable + " is set and empty, which replaces the usual ones)"
	}
	for i, d := range dirs {
		switch info, err := os.Stat(d); {
		case err != nil:
			dirs[i] += " (which is not there)"
		case !info.IsDir():
			dirs[i] += " (which is a file: the variable wants its folder)"
		}
	}
	return strings.Join(dirs, ", ") + " (from " + pathVariable + ", which replaces the usual folders)"
}

// Plugins lists the PJRT plugins found, as absolute paths, best first: CUDA
// plugins where there is an NVIDIA device, then CPU plugins, then others, each
// in the order of SearchPath. CUDA plugins without a device are left out.
func Plugins() []string {
	found, _ := search()
	return found
}

// LeftOut lists the CUDA plugins that Plugins leaves out, since there is no
// NVIDIA device here.
func LeftOut() []string {
	_, out := search()
	return out
}

func search() (plugins, leftOut []string) {
	type candidate struct {
		path string
		rank int
	}
	var found []candidate
	for _, dir := range SearchPath() {
		for _, pattern := range []string{"pjrt_c_api_*_plugin", "nvidia/pjrt_c_api_*_plugin", "pjrt-plugin-*", "pjrt_plugin_*"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern+libExt()))
			if err != nil { // a directory with pattern characters in its name
				continue
			}
			for _, p := range paths {
				abs, err := filepath.Abs(p)
				if err != nil {
					continue
				}
				c := candidate{abs, 2}
				switch name := strings.ToLower(filepath.Base(p)); {
				case strings.Contains(name, "cuda"), strings.Contains(name, "gpu"):
					if !hasNVIDIA() {
						leftOut = append(leftOut, abs)
						continue
					}
					c.rank = 0
				case strings.Contains(name, "cpu"):
					c.rank = 1
				}
				found = append(found, c)
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].rank < found[j].rank })
	for _, c := range found {
		plugins = append(plugins, c.path)
	}
	return plugins, leftOut
}

func libExt() string {
	if runtime.GOOS == "darwin" {
		return ".dylib"
	}
	return ".so"
}

func hasNVIDIA() bool {
	for _, dev := range []string{"/dev/nvidiactl", "/dev/dxg"} { // native, WSL
		if _, err := os.Stat(dev); err == nil {
			return true
		}
	}
	return false
}

// withPlugin completes an XLA configuration, PLUGIN[,OPTIONS], to one that
// begins with the absolute path of a plugin. With a path the engine neither
// searches nor downloads.
func withPlugin(config string) (plugin, full string, err error) {
	name, options, _ := strings.Cut(config, ",")
	switch {
	case filepath.IsAbs(name):
		plugin = name
	default:
		for _, p := range Plugins() {
			if name == "" || strings.Contains(filepath.Base(p), name) {
				plugin = p
				break
			}
		}
		if plugin == "" {
			what := "PJRT plugin"
			if name != "" {
				what = fmt.Sprintf("PJRT plugin %q", name)
			}
			return "", "", fmt.Errorf("no %s in %s: `rooflab xla install` gets one, or give its path as xla:/path/to/plugin.so",
				what, Searched())
		}
	}
	if info, err := os.Stat(plugin); errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("PJRT plugin %s does not exist", plugin)
	} else if err != nil {
		return "", "", fmt.Errorf("looking at the PJRT plugin: %w", err)
	} else if !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("PJRT plugin %s is no file", plugin)
	}
	full = plugin
	if options != "" {
		full += "," + options
	}
	return plugin, full, nil
}
