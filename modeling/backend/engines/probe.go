package engines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/rooflab/rooflab/modeling/backend"
)

// The C API that go-xla is compiled against, and the oldest that is taken.
// XLA keeps the API compatible within a major version and adds functions at its
// end, so that a newer plugin has more than go-xla asks for; one that is much
// older lacks some that go-xla calls without looking, which ends the process.
// A newer one may still refuse what an old caller says: it is taken when it has
// computed something in a process of its own.
const (
	apiMajor    = 0
	apiMinor    = 104 // PJRT_API_MINOR in go-xla 0.4.1's pjrt_c_api.h
	apiMinorMin = 81  // of the oldest CPU plugin that is published as a wheel
)

// speaks is the rule.
func speaks(plugin string, major, minor int) error {
	if major == apiMajor && minor >= apiMinorMin {
		return nil
	}
	return fmt.Errorf("%s speaks PJRT C API %d.%d, and this program %d.%d (%d.%d and later will do): `rooflab xla install` gets one that fits",
		plugin, major, minor, apiMajor, apiMinor, apiMajor, apiMinorMin)
}

// probeVariable makes a program that links this package try the plugin that it
// names when it starts, say on the file descriptor 3 what it found, and end.
const probeVariable = "ROOFLAB_PJRT_PROBE"

// patience is how long a plugin may take; making a client of several GPUs takes
// seconds, a driver that hangs takes for ever.
const patience = 2 * time.Minute

// found is what a probing process says, once.
type found struct {
	backend.Facts
	Failure string `json:"failure,omitempty"`
}

// probed are the plugins that were tried by this process, by key.
var probed sync.Map

// probe tries a plugin in another process. What was found of a file is kept, by
// its path, size and time, in the user's cache, so that it is tried once.
func probe(ctx context.Context, plugin string) (backend.Facts, error) {
	if err := library(plugin); err != nil {
		return backend.Facts{}, err
	}
	key := keyOf(plugin)
	if f, ok := probed.Load(key); ok {
		return f.(backend.Facts), nil
	}
	kept := ""
	if dir, err := os.UserCacheDir(); err == nil {
		kept = filepath.Join(dir, "rooflab", "pjrt", key+".json")
		var f backend.Facts
		if raw, err := os.ReadFile(kept); err == nil && json.Unmarshal(raw, &f) == nil {
			probed.Store(key, f)
			return f, nil
		}
	}
	f, err := elsewhere(ctx, plugin)
	if err != nil {
		return f, err
	}
	probed.Store(key, f)
	if raw, err := json.Marshal(f); err == nil && kept != "" { // no cache is no error
		_ = os.MkdirAll(filepath.Dir(kept), 0o755)
		_ = os.WriteFile(kept, raw, 0o644)
	}
	return f, nil
}

// keyOf identifies a file as it is now, for this program's C API.
func keyOf(plugin string) string {
	h := sha256.New()
	fmt.Fprintf(h, "2 %s %d.%d", plugin, apiMajor, apiMinor)
	if info, err := os.Stat(plugin); err == nil {
		fmt.Fprintf(h, " %d %d", info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// elsewhere starts this program again to probe.
func elsewhere(ctx context.Context, plugin string) (backend.Facts, error) {
	self := "/proc/self/exe" // also when the file was replaced meanwhile
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return backend.Facts{}, fmt.Errorf("trying %s in a process of its own: %w", plugin, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it did not answer within %v", patience))
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return backend.Facts{}, fmt.Errorf("trying %s in a process of its own: %w", plugin, err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), probeVariable+"="+plugin)
	cmd.ExtraFiles = []*os.File{w}
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return backend.Facts{}, fmt.Errorf("trying %s in a process of its own: %w", plugin, err)
	}
	var answer bytes.Buffer
	_, readErr := answer.ReadFrom(r)
	err = cmd.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return backend.Facts{}, fmt.Errorf("trying %s: %w", plugin, cause)
	}
	var f found
	if readErr != nil || json.Unmarshal(answer.Bytes(), &f) != nil {
		if err == nil {
			err = errors.New("without an answer")
		}
		return backend.Facts{}, fmt.Errorf("%s ends the process that loads it (%w)%s: it is damaged, or of another system; `rooflab xla install` gets one that works",
			plugin, err, head(said.String()))
	}
	if f.Failure != "" {
		return f.Facts, errors.New(f.Failure)
	}
	return f.Facts, nil
}

// head is the first line that a crashed process said, if any.
func head(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > 200 {
		line = line[:200] + " ..."
	}
	if line == "" {
		return ""
	}
	return ": " + line
}

// probing is the other side of elsewhere: it does not return when it is asked
// for.
func probing() {
	plugin, asked := os.LookupEnv(probeVariable)
	if !asked {
		return
	}
	_ = os.Unsetenv(probeVariable) // not for what a plugin may start
	out := os.NewFile(3, "answer")
	f := found{}
	f.Program = fmt.Sprintf("%d.%d", apiMajor, apiMinor)
	if err := try(plugin, &f.Facts); err != nil {
		f.Failure = err.Error()
	}
	if err := json.NewEncoder(out).Encode(f); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// try loads a plugin, asks what it is and lets it compute.
func try(plugin string, f *backend.Facts) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: the engine panicked: %v", plugin, r)
		}
	}()
	if err := library(plugin); err != nil {
		return err
	}
	preload(plugin)
	if f.APIMajor, f.APIMinor, err = apiOf(plugin); err != nil {
		return err
	}
	if err := speaks(plugin, f.APIMajor, f.APIMinor); err != nil {
		return err
	}
	p, err := pjrt.GetPlugin(plugin)
	if err != nil {
		return err
	}
	client, err := p.NewClient(quiet(plugin))
	if err != nil {
		return fmt.Errorf("%s finds no device to run on: %w", plugin, err)
	}
	f.Platform, f.Version = client.Platform(), client.PlatformVersion()
	for i, d := range client.AddressableDevices() {
		name := fmt.Sprintf("device %d", i)
		if about, err := d.GetDescription(); err == nil {
			name = about.DebugString()
		}
		f.Devices = append(f.Devices, name)
	}
	if len(f.Devices) == 0 {
		return fmt.Errorf("%s has no device to run on", plugin)
	}
	if err := client.Destroy(); err != nil {
		return fmt.Errorf("%s: %w", plugin, err)
	}
	b, err := xla.New(plugin)
	if err != nil {
		return err
	}
	if err := backend.Check(b); err != nil {
		return fmt.Errorf("%s does not compute as it should: %w", plugin, err)
	}
	return nil
}

// quiet are the options of a client that only looks.
func quiet(plugin string) pjrt.NamedValuesMap {
	if pjrt.IsCUDAName(plugin) {
		return pjrt.NamedValuesMap{"preallocate": false}
	}
	return nil
}

// library checks what can be seen of a plugin without loading it: that it is a
// shared library for this machine, as long as its headers promise (one that is
// truncated kills the process that loads it, by SIGBUS), and a PJRT plugin.
func library(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	f, err := elf.Open(file)
	var format *elf.FormatError
	if errors.As(err, &format) {
		if runtime.GOOS == "linux" {
			return fmt.Errorf("%s is no ELF library, or a damaged one: %w", file, err)
		}
		return nil // another format, on another system
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", file, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Off+p.Filesz > uint64(info.Size()) {
			return fmt.Errorf("%s is truncated: it has %d bytes, its headers want %d; `rooflab xla install` gets a whole one",
				file, info.Size(), p.Off+p.Filesz)
		}
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if want, ok := machines[runtime.GOARCH]; ok && f.Machine != want {
		return fmt.Errorf("%s is for another processor: %v, this is %v", file, f.Machine, want)
	}
	if f.Type != elf.ET_DYN {
		return fmt.Errorf("%s is no shared library (%v)", file, f.Type)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("%s is damaged: reading its symbols: %w", file, err)
	}
	for _, s := range symbols {
		if s.Name == pjrt.GetPJRTApiFunctionName && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	return fmt.Errorf("%s is no PJRT plugin: it is a shared library without the function %s", file, pjrt.GetPJRTApiFunctionName)
}
