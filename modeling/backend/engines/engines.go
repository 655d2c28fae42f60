// Package engines links the model engines: XLA through PJRT plugins, and
// GoMLX's Go backend. It is imported for its effect, once in a program:
//
//	import _ "github.com/rooflab/rooflab/modeling/backend/engines"
package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/backend/engines/early"
)

func init() {
	early.Over()
	probing() // a process that was started to try a plugin ends here
	// Without this, asking XLA for its default plugin downloads one from the
	// network unasked, and panics where there is none. The variable is for
	// processes that cells start.
	xla.EnableAutoInstall(false)
	if _, set := os.LookupEnv(xla.NoAutoInstallEnv); !set {
		_ = os.Setenv(xla.NoAutoInstallEnv, "1")
	}
	backend.Register("go", backend.Engine{Open: openGo})
	backend.Register("xla", backend.Engine{Open: loadXLA, NeedsPlugin: true, Probe: probe})
	// compute.New, which GoMLX's own examples use, takes GoMLX's defaults: the
	// Go backend that can hang. Give both names our settings.
	compute.Register("go", openGo)
	compute.Register("xla", openXLA)
	if plugins := backend.Plugins(); len(plugins) == 0 {
		compute.DefaultConfig = "go"
	}
}

// openGo makes a Go backend with unlimited parallelism: the default pool of
// workers can saturate inside its matrix product and hang for ever.
func openGo(config string) (compute.Backend, error) {
	// The option parallelism=-1 would do, but prints a line on standard output,
	// which is the user's. The field holding the workers is exported, its type
	// is not nameable here.
	explicit := strings.Contains(config, "parallelism=")
	b, err := gobackend.New(config)
	if err != nil || explicit {
		return b, err
	}
	v := reflect.ValueOf(b)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if f := v.Elem().FieldByName("Workers"); f.IsValid() && f.CanInterface() {
			if w, ok := f.Interface().(interface{ SetMaxParallelism(int) }); ok {
				w.SetMaxParallelism(-1)
				return b, nil
			}
		}
	}
	return nil, fmt.Errorf("GoMLX's Go backend (%T) has changed: cannot lift the limit of its workers, with which it can hang; "+
		"use go:parallelism=-1 and report this", b)
}

// loadXLA opens the plugin that config begins with, after it has been tried in
// another process: one that is damaged kills the process that loads it. The option
// devices=N, which is ours, makes a CPU plugin offer N devices, to try data
// parallel programs on.
func loadXLA(config string) (compute.Backend, error) {
	parts := strings.Split(config, ",")
	facts, err := probe(context.Background(), parts[0])
	if err != nil {
		return nil, err
	}
	if err := speaks(parts[0], facts.APIMajor, facts.APIMinor); err != nil {
		return nil, err
	}
	preload(parts[0])
	options := pjrt.NamedValuesMap{}
	if strings.Contains(strings.ToLower(filepath.Base(parts[0])), "cpu") {
		options["cpu_device_count"] = defaultDevices()
		options[asynchronous] = false
	}
	var rest []string
	for _, p := range parts {
		count, ok := strings.CutPrefix(p, "devices=")
		if !ok {
			rest = append(rest, p)
			continue
		}
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("the option devices=%s: want a number of devices", count)
		}
		if !strings.Contains(strings.ToLower(parts[0]), "cpu") {
			return nil, fmt.Errorf("the option %s is for CPU plugins; %s has the devices that are there (visible_devices selects)", p, parts[0])
		}
		options["cpu_device_count"] = n
		delete(options, asynchronous) // devices that wait for each other run on threads of their own
	}
	lean(parts[0])
	b, err := xla.NewWithOptions(strings.Join(rest, ","), options)
	if _, ok := options[asynchronous]; ok && err != nil { // a plugin that does not know the option refuses all
		delete(options, asynchronous)
		b, err = xla.NewWithOptions(strings.Join(rest, ","), options)
	}
	if err != nil {
		return nil, err // a nil *xla.Backend would be no nil compute.Backend
	}
	return b, nil
}

// asynchronous is the CPU plugin's option to return from a call before it has
// given the call's memory back. The next one then takes memory beside it: of a
// training step some hundreds of MB, for nothing, since a step waits for the
// loss of the one before.
const asynchronous = "asynchronous"

// defaultDevices is how many devices a CPU plugin offers when nobody says. Left
// alone it offers 4, and has as many threads at least: on a machine with fewer
// processors they would take turns within each operation.
func defaultDevices() int64 {
	cpus := runtime.NumCPU()
	if n, err := strconv.Atoi(os.Getenv("NPROC")); err == nil && n > 0 { // XLA's own way to say how many threads to have
		cpus = n
	}
	return int64(min(cpus, 4))
}

// openXLA is xla.New with the plugin searched where rooflab searches.
func openXLA(config string) (compute.Backend, error) {
	c, err := backend.Open("xla:" + config)
	if err != nil {
		return nil, err
	}
	if c.Backend == nil {
		return nil, errors.New("no XLA backend")
	}
	return c.Backend, nil
}
