// Package host knows the machine that it runs on: what processor, caches and
// memory it has and in which state they are, from the files in which Linux
// tells it. Nothing is measured, so that every collector can say on which
// machine it ran. In flow files below /proc and /sys, out flow a
// datasets.Machine and facts for a run's attributes.
package host

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// System is a Linux system whose /proc and /sys lie below a folder.
type System struct{ root string }

// Here is the system that this process runs on.
var Here = At("/")

// At is the system whose file tree begins at root: another one than "/" is a
// copy, for tests or for looking at a machine from elsewhere.
func At(root string) System { return System{root} }

// Machine describes this host, the same at each call as long as nobody changes
// the machine. ID is 1.
func Machine() datasets.Machine { return Here.Machine() }

// Fact is a named property of a system.
type Fact struct{ Name, Value string }

// Path is where a path of the system is found.
func (s System) Path(path string) string { return filepath.Join(s.root, path) }

// text returns a file's content without blanks around it, "" where it cannot
// be read.
func (s System) text(path string) string {
	b, err := os.ReadFile(s.Path(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
}

func (s System) number(path string) (int64, bool) {
	n, err := strconv.ParseInt(s.text(path), 10, 64)
	return n, err == nil
}

func (s System) glob(pattern string) []string {
	found, err := filepath.Glob(s.Path(pattern))
	if err != nil {
		return nil
	}
	for i, f := range found {
		if rel, err := filepath.Rel(s.root, f); err == nil {
			found[i] = "/" + rel
		}
	}
	return found
}

// Machine describes the system. ID is 1. Units are cores, not hardware
// threads; ClockHz is the nominal frequency where the system tells it.
func (s System) Machine() datasets.Machine {
	c := s.CPU()
	m := datasets.Machine{ID: 1, Host: s.text("/proc/sys/kernel/hostname"), CPU: c.Model, Arch: arch()}
	if c.Cores > 0 {
		m.Units = datasets.Some(int64(c.Cores))
	}
	if c.Hz > 0 {
		m.ClockHz = datasets.Some(c.Hz)
	}
	if b := s.Memory()["MemTotal"]; b > 0 {
		m.MemBytes = datasets.Some(b)
	}
	if gpus := s.GPUs(); len(gpus) > 0 {
		m.GPU = gpus[0]
		m.Driver = s.gpuDriver()
	}
	return m
}

// Memory returns the sizes that /proc/meminfo tells, in bytes.
func (s System) Memory() map[string]int64 {
	m := map[string]int64{}
	for _, line := range strings.Split(s.text("/proc/meminfo"), "\n") {
		name, value, ok := strings.Cut(line, ":")
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil {
			continue
		}
		if unit == "kB" {
			n *= 1024
		}
		m[name] = n
	}
	return m
}

// GPUs lists the models of the GPUs that a driver has taken, as the driver
// calls them.
func (s System) GPUs() []string {
	var models []string
	for _, f := range s.glob("/proc/driver/nvidia/gpus/*/information") {
		for _, line := range strings.Split(s.text(f), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "Model" {
				models = append(models, strings.TrimSpace(value))
			}
		}
	}
	for _, f := range s.glob("/sys/class/drm/card*/device/product_name") { // amdgpu
		if m := s.text(f); m != "" {
			models = append(models, m)
		}
	}
	sort.Strings(models)
	return models
}

// gpuDriver is the version of the NVIDIA driver, "570.86.15": the word after
// "Kernel Module" in its banner.
func (s System) gpuDriver() string {
	words := strings.Fields(s.text("/proc/driver/nvidia/version"))
	for i, w := range words {
		// "Kernel Module  570.86", and "Kernel Module for x86_64  570.86" of the open modules
		if w != "Module" {
			continue
		}
		for _, v := range words[i+1:] {
			if v != "" && v[0] >= '0' && v[0] <= '9' && strings.Contains(v, ".") {
				return v
			}
		}
	}
	return ""
}

// list expands the kernel's "0-3,8" into numbers.
func list(s string) []int {
	var all []int
	for _, part := range strings.Split(s, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(to); err != nil || b < a || b-a > 1<<16 {
				continue
			}
		}
		for i := a; i <= b; i++ {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
