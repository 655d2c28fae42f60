// Package backend chooses where GoMLX models run: XLA when a PJRT plugin is
// there, else GoMLX's own Go backend, and says which and why.
//
// In flows nothing but the environment, out flows a Choice: the backend and
// the reason for it. A process has one backend of a kind, shared by all cells
// of a session, so that tensors made in one cell are usable in the next.
//
// The package is thin. The engines are linked by a blank import, which
// rooflab's session host has already:
//
//	import _ "github.com/rooflab/rooflab/modeling/backend/engines"
//
// Nothing is ever downloaded here; `rooflab xla install` does that when asked.
package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"

	"github.com/gomlx/compute"
)

// Choice is a backend and why it was taken.
type Choice struct {
	Backend compute.Backend // what GoMLX's functions take
	Engine  string          // "xla" or "go"
	Plugin  string          // absolute path of the PJRT plugin, for XLA
	Why     string          // one line for the user, "XLA with the PJRT plugin /.../pjrt_c_api_cpu_plugin.so (PJRT C API 0.115)"
	// Notice is set when the choice is second best: what is missing and how to
	// get it. It is meant to be shown once.
	Notice string
}

// An Engine opens a kind of backend. Engines register themselves.
type Engine struct {
	// Open makes a backend. config is the engine's own: for XLA the absolute
	// path of the plugin and options, for Go options.
	Open func(config string) (compute.Backend, error)
	// NeedsPlugin says that config must begin with the path of a PJRT plugin.
	NeedsPlugin bool
	// Probe looks at a plugin without risk for this process, which a plugin that
	// is damaged or foreign can end; nil where there are no plugins.
	Probe func(ctx context.Context, plugin string) (Facts, error)
}

// Facts are what a plugin says of itself when it is tried.
type Facts struct {
	Platform string   `json:"platform"` // "cpu", "cuda"
	Version  string   `json:"version"`  // of the platform, as the plugin has it; may have several lines
	APIMajor int      `json:"api_major"`
	APIMinor int      `json:"api_minor"`
	Program  string   `json:"program"` // C API that this program was compiled with, "0.104"
	Devices  []string `json:"devices"`
}

// API is the plugin's version of the PJRT C API, "0.115".
func (f Facts) API() string { return fmt.Sprintf("%d.%d", f.APIMajor, f.APIMinor) }

// Probe tries a plugin: it is loaded, asked what it is, and computes something,
// in another process, so that it cannot end this one.
func Probe(ctx context.Context, plugin string) (Facts, error) {
	mu.Lock()
	e, ok := engines["xla"]
	mu.Unlock()
	if !ok || e.Probe == nil {
		return Facts{}, errors.New("this program has no XLA engine linked")
	}
	return e.Probe(ctx, plugin)
}

var (
	mu      sync.Mutex
	engines = map[string]Engine{}
	opened  = map[string]*Choice{} // by engine and config; never closed: tensors live on them
)

// Register adds an engine under a name ("xla", "go").
func Register(name string, e Engine) {
	mu.Lock()
	defer mu.Unlock()
	engines[name] = e
}

// Engines lists the registered engines.
func Engines() []string {
	mu.Lock()
	defer mu.Unlock()
	var names []string
	for n := range engines {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Default is the backend of this process. GOMLX_BACKEND decides when set (as
// in GoMLX: "xla", "xla:/path/plugin.so", "go"). Otherwise the first PJRT
// plugin that Plugins finds is used, and without one the Go backend.
func Default() (*Choice, error) {
	if want := os.Getenv(compute.ConfigEnvVar); want != "" {
		c, err := Open(want)
		if err != nil {
			return nil, fmt.Errorf("opening the backend that %s=%s asks for: %w", compute.ConfigEnvVar, want, err)
		}
		return c, nil
	}
	mu.Lock()
	_, haveXLA := engines["xla"]
	mu.Unlock()
	notice := "models run on GoMLX's Go backend, which is slower than XLA: this program has no XLA engine linked"
	if haveXLA {
		found := Plugins()
		var failures []error
		for _, p := range found {
			c, err := Open("xla:" + p)
			if err == nil && failures == nil {
				return c, nil
			}
			if err == nil {
				second := *c
				second.Notice = "models run on " + p + ", since a better plugin failed: " + errors.Join(failures...).Error()
				return &second, nil
			}
			failures = append(failures, err)
		}
		if len(found) == 0 {
			notice = "models run on GoMLX's Go backend, which is slower than XLA: no PJRT plugin in " + Searched() +
				"; `rooflab xla install` gets one"
			if out := LeftOut(); len(out) > 0 {
				notice += "; " + strings.Join(out, ", ") + " wants an NVIDIA device, and there is none"
			}
		} else {
			notice = "models run on GoMLX's Go backend, which is slower than XLA: " + errors.Join(failures...).Error()
		}
	}
	c, err := Open("go")
	if err != nil {
		return nil, err
	}
	withNotice := *c
	withNotice.Notice = notice
	return &withNotice, nil
}

// Open returns the backend of a configuration in GoMLX's notation, ENGINE or
// ENGINE:CONFIG. It is opened once in a process and checked with a small
// product before anybody gets it. "xla" alone takes the first plugin found.
func Open(config string) (*Choice, error) {
	name, rest, _ := strings.Cut(config, ":")
	if name == "stablehlo" || name == "hlo" || name == "shlo" { // GoMLX's aliases
		name = "xla"
	}
	mu.Lock()
	defer mu.Unlock()
	engine, ok := engines[name]
	if !ok {
		return nil, fmt.Errorf("no model engine %q is linked (there are: %s): add the blank import "+
			`_ "github.com/rooflab/rooflab/modeling/backend/engines"`, name, strings.Join(names(), ", "))
	}
	plugin := ""
	if engine.NeedsPlugin {
		var err error
		if plugin, rest, err = withPlugin(rest); err != nil {
			return nil, err
		}
	}
	key := name + ":" + rest
	if c := opened[key]; c != nil {
		return c, nil
	}
	b, err := open(engine, rest)
	if err != nil {
		return nil, fmt.Errorf("opening the %s backend (%s): %w", name, rest, err)
	}
	if err := Check(b); err != nil {
		return nil, fmt.Errorf("checking the %s backend (%s): %w", name, rest, err)
	}
	c := &Choice{Backend: b, Engine: name, Plugin: plugin}
	c.Why = "GoMLX's Go backend"
	if plugin != "" {
		c.Why = "XLA with the PJRT plugin " + plugin
		if engine.Probe != nil {
			if f, err := engine.Probe(context.Background(), plugin); err == nil {
				c.Why += " (PJRT C API " + f.API() + ")"
			}
		}
	}
	opened[key] = c
	return c, nil
}

// open guards against engines that panic instead of returning an error.
func open(e Engine, config string) (b compute.Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, fmt.Errorf("the engine panicked: %v", r)
		}
	}()
	return e.Open(config)
}

func names() []string {
	var ns []string
	for n := range engines {
		ns = append(ns, n)
	}
	sort.Strings(ns)
	if ns == nil {
		ns = []string{"none"}
	}
	return ns
}

// String says which backend it is.
func (c *Choice) String() string { return c.Why }
