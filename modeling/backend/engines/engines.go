// Package engines links the model engines: XLA through PJRT plugins, and
// GoMLX's Go backend. It is imported for its effect, once in a program:
//
//	import _ "github.com/rooflab/rooflab/modeling/backend/engines"
package engines

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/rooflab/rooflab/modeling/backend"
)

func init() {
	// Without this, asking XLA for its default plugin downloads one from the
	// network unasked, and panics where there is none. The variable is for
	// processes that cells start.
	xla.EnableAutoInstall(false)
	if _, set := os.LookupEnv(xla.NoAutoInstallEnv); !set {
		_ = os.Setenv(xla.NoAutoInstallEnv, "1")
	}
	backend.Register("go", backend.Engine{Open: openGo})
	backend.Register("xla", backend.Engine{Open: loadXLA, NeedsPlugin: true, Version: version})
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

// loadXLA opens the plugin that config begins with. A truncated library kills
// the process that loads it (SIGBUS), so its size is checked first. The option
// devices=N, which is ours, makes a CPU plugin offer N devices, to try data
// parallel programs on.
func loadXLA(config string) (compute.Backend, error) {
	parts := strings.Split(config, ",")
	if err := whole(parts[0]); err != nil {
		return nil, err
	}
	if err := speaks(parts[0]); err != nil {
		return nil, err
	}
	options := pjrt.NamedValuesMap{}
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
	}
	b, err := xla.NewWithOptions(strings.Join(rest, ","), options)
	if err != nil {
		return nil, err // a nil *xla.Backend would be no nil compute.Backend
	}
	return b, nil
}

// The C API that go-xla is compiled against, and the oldest that is taken.
// XLA keeps the API compatible within a major version and adds functions at its
// end, so that a newer plugin has more than go-xla asks for; one that is much
// older lacks some that go-xla calls without looking, which ends the process.
const (
	apiMajor    = 0
	apiMinor    = 104 // PJRT_API_MINOR in go-xla 0.4.1's pjrt_c_api.h
	apiMinorMin = 81  // of the oldest CPU plugin that is published as a wheel
)

// speaks checks that a plugin's C API is one that go-xla can call, before a
// client is made of it.
func speaks(plugin string) error {
	p, err := pjrt.GetPlugin(plugin)
	if err != nil {
		return err
	}
	major, minor := p.Version()
	if major != apiMajor || minor < apiMinorMin {
		return fmt.Errorf("%s speaks PJRT C API %d.%d, and this program %d.%d (%d.%d and later will do): `rooflab xla install` gets one that fits",
			plugin, major, minor, apiMajor, apiMinor, apiMajor, apiMinorMin)
	}
	return nil
}

// version is a plugin's C API, for the user.
func version(plugin string) string {
	p, err := pjrt.GetPlugin(plugin)
	if err != nil {
		return ""
	}
	major, minor := p.Version()
	return fmt.Sprintf("PJRT C API %d.%d", major, minor)
}

// whole checks that an ELF library has all that its headers promise.
func whole(library string) error {
	info, err := os.Stat(library)
	if err != nil {
		return err
	}
	f, err := elf.Open(library)
	var format *elf.FormatError
	if errors.As(err, &format) {
		if runtime.GOOS == "linux" {
			return fmt.Errorf("%s is no ELF library, or a damaged one: %w", library, err)
		}
		return nil // another format, on another system
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", library, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Off+p.Filesz > uint64(info.Size()) {
			return fmt.Errorf("%s is truncated: it has %d bytes, its headers want %d; `rooflab xla install` gets a whole one",
				library, info.Size(), p.Off+p.Filesz)
		}
	}
	return nil
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
