package agents

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/collectors/ocllaunch"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// Names in the work folder of a program whose launches are watched.
const (
	layerFile    = "rooflab-layer.so"
	launchesFile = "rooflab-launches.jsonl"
)

// mostLaunchSizes is on how many sizes besides the profile's the shapes of launches
// are looked at.
const mostLaunchSizes = 8

// watched is a command whose launches of OpenCL kernels are written down.
func (w *Workbench) watched(ctx context.Context, c sandbox.Command) (sandbox.Command, error) {
	layer, err := w.layer(ctx)
	if err != nil {
		return c, err
	}
	c.Put = append(slices.Clone(c.Put), sandbox.Copy{From: layer, To: layerFile})
	c.Env = append(slices.Clone(c.Env), ocllaunch.LayersVariable+"="+filepath.Join(sandbox.Work, layerFile),
		ocllaunch.FileVariable+"="+filepath.Join(sandbox.Work, launchesFile))
	return c, nil
}

// layer is the library that watches, built once for a workbench.
func (w *Workbench) layer(ctx context.Context) (string, error) {
	dir := filepath.Join(w.Dir, "layer")
	path, source := filepath.Join(dir, layerFile), filepath.Join(dir, "layer.c")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(source, ocllaunch.Layer, 0o644)); err != nil {
		return "", err
	}
	argv := slices.Concat([]string{"cc"}, ocllaunch.BuildFlags, []string{"-o", layerFile, "layer.c"})
	o, err := w.box.Run(ctx, sandbox.Command{Argv: argv, Put: []sandbox.Copy{{From: source, To: "layer.c"}}, Keep: dir, KeepOnly: []string{layerFile}})
	if err != nil {
		return "", fmt.Errorf("building the layer that watches launches: %w; it takes a C compiler that is called cc", err)
	}
	if _, there := o.File(layerFile); !o.OK() || !there {
		return "", fmt.Errorf("building the layer that watches launches: cc ended with %s: %s", o, strings.TrimSpace(string(o.Stderr)))
	}
	return path, nil
}

// launchesOf runs a program on an input of a size and returns the launches that it
// makes.
func (w *Workbench) launchesOf(ctx context.Context, p *Program, size string) ([]ocllaunch.Launch, error) {
	dir, err := os.MkdirTemp("", "rooflab-launches-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	prepared, err := w.prepared(ctx, p, p, size, w.profileSize(), dir)
	if err != nil {
		return nil, err
	}
	c, err := w.watched(ctx, prepared.Original)
	if err != nil {
		return nil, err
	}
	c.Keep = filepath.Join(dir, "launches")
	o, err := w.box.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(c.Keep, launchesFile))
	if err != nil || !o.OK() {
		return nil, w.noLaunches(o)
	}
	return readLaunches(text)
}

// noLaunches says what is missing where a program was watched in vain.
func (w *Workbench) noLaunches(o sandbox.Outcome) error {
	if !o.OK() {
		said := strings.TrimSpace(string(o.Stderr))
		return fmt.Errorf("watching launches of OpenCL kernels: the program ended with %s: %s", o, said[:min(len(said), 1000)])
	}
	return errors.New("watching launches of OpenCL kernels: the program ended well and the loader has not put the layer in: it launches no kernels, " +
		"or its libOpenCL.so.1 is older than ocl-icd 2.3 or Khronos' loader 3.0.9")
}

// device adds to the evidence on a program what its launches and the text of its
// kernels say: metrics, the shapes on all sizes, and items.
func (w *Workbench) device(ctx context.Context, s *datasets.Store, e *Evidence, p *Program, launches []ocllaunch.Launch) ([]insight.Item, []string, error) {
	ws, notes := works(w.deviceCode(p), launches)
	for name, v := range deviceMetrics(ws) {
		e.Metrics[name] = v
	}
	all := [][]ocllaunch.Launch{launches}
	more, err := w.otherLaunches(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	e.Launches = shapes(append(all, more...))
	items, err := w.deviceItems(ctx, s, ws)
	return items, notes, err
}

// otherLaunches are the launches on inputs of the target's other sizes. They are
// the host program's business: where an edit leaves it as it was, they are those
// of the original.
func (w *Workbench) otherLaunches(ctx context.Context, p *Program) ([][]ocllaunch.Launch, error) {
	var host []edit.File
	for _, f := range p.Files {
		if filepath.Ext(f.Path) != ".cl" {
			host = append(host, f)
		}
	}
	key := programID(host)
	if known, ok := w.shapes[key]; ok {
		return known, nil
	}
	out := [][]ocllaunch.Launch{}
	for _, size := range append(slices.Clone(w.Target.Inputs.Sizes), w.Target.Inputs.Other...) {
		if size == w.profileSize() || len(out) == mostLaunchSizes {
			continue
		}
		ls, err := w.launchesOf(ctx, p, size)
		if err != nil {
			return nil, fmt.Errorf("size %s: %w", size, err)
		}
		out = append(out, ls)
	}
	if w.shapes == nil {
		w.shapes = map[string][][]ocllaunch.Launch{}
	}
	w.shapes[key] = out
	return out, nil
}

func readLaunches(text []byte) ([]ocllaunch.Launch, error) {
	var out []ocllaunch.Launch
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		if i == 0 || len(line) == 0 {
			continue
		}
		l, err := ocllaunch.Read(line)
		if err != nil {
			return nil, fmt.Errorf("reading the launches, line %d: %w", i+1, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// rewrite replaces the arguments of launches in the file of a profile by typed
// ones, where the sources say what they are: int:42 and buf:float:1024, as the
// collector opencl describes them.
func (w *Workbench) rewrite(p *Program, path string) ([]ocllaunch.Launch, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ls, err := readLaunches(text)
	if err != nil {
		return nil, err
	}
	kernels := w.deviceCode(p)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	out := append(slices.Clone(first), '\n')
	for _, l := range ls {
		typed := l
		if k := kernels[l.Kernel]; k != nil {
			typed.Args = k.typed(l.Args)
		}
		line, err := json.Marshal(typed)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return ls, os.WriteFile(path, out, 0o644)
}

// deviceKernel is a kernel of the sources.
type deviceKernel struct {
	file    string
	program *kernelcost.Program
	fn      *csource.Function
}

// deviceCode are the kernels of a program's OpenCL sources, by name.
func (w *Workbench) deviceCode(p *Program) map[string]*deviceKernel {
	out := map[string]*deviceKernel{}
	texts := map[string]string{}
	for _, f := range p.Files {
		texts[f.Path] = f.Text
	}
	for _, s := range w.Target.Sources() {
		if filepath.Ext(s.Path) != ".cl" {
			continue
		}
		text, changed := texts[s.Path]
		if !changed {
			text = s.Text
		}
		program := kernelcost.Parse(text, csource.Options{})
		for _, name := range program.Unit.Kernels() {
			out[name] = &deviceKernel{file: s.Path, program: program, fn: program.Unit.Find(name)}
		}
	}
	return out
}

// typed are arguments with their types.
func (k *deviceKernel) typed(args []string) []string {
	out := slices.Clone(args)
	for i, a := range args {
		if i >= len(k.fn.Params) {
			break
		}
		t := k.fn.Params[i].Type
		kind, value, _ := strings.Cut(a, ":")
		switch {
		case kind == "buffer" && t.Elem != nil && t.Elem.Bytes > 0:
			n, err := strconv.ParseInt(value, 10, 64)
			if err == nil {
				out[i] = fmt.Sprintf("buf:%s:%d", typeName(t.Elem), n/int64(t.Elem.Bytes*max(1, t.Elem.Width)))
			}
		case kind == "value":
			if v, ok := scalar(t, value); ok {
				out[i] = typeName(t) + ":" + strconv.FormatFloat(v, 'g', -1, 64)
			} else {
				out[i] = "raw:" + value
			}
		}
	}
	return out
}

// typeName is a type as the collector opencl calls it.
func typeName(t *csource.Type) string {
	name := map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}[t.Bytes]
	if t.Class == csource.Floating {
		name = map[int]string{2: "half", 4: "float", 8: "double"}[t.Bytes]
	} else if t.Unsigned {
		name = "u" + name
	}
	if t.Width > 1 {
		name += strconv.Itoa(t.Width)
	}
	return name
}

// scalar is the number that the bytes of an argument are.
func scalar(t *csource.Type, digits string) (float64, bool) {
	b, err := hex.DecodeString(digits)
	if err != nil || t.Width > 1 || t.Elem != nil || len(b) != t.Bytes {
		return 0, false
	}
	var wide [8]byte
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
	switch {
	case t.Class == csource.Floating && t.Bytes == 4:
		return float64(math.Float32frombits(uint32(n))), true
	case t.Class == csource.Floating && t.Bytes == 8:
		return math.Float64frombits(n), true
	case t.Class == csource.Floating:
		return 0, false
	case t.Unsigned:
		return float64(n), true
	}
	shift := 64 - 8*t.Bytes
	return float64(int64(n) << shift >> shift), true
}

// shapes are what launches of a program have in common on all inputs of its
// target's sizes.
func shapes(bySize [][]ocllaunch.Launch) map[string]rules.Launch {
	out := map[string]rules.Launch{}
	for _, launches := range bySize {
		for _, l := range launches {
			square := len(l.Global) >= 2 && l.Global[0] == l.Global[1] && (len(l.Local) == 0 || l.Local[0] == l.Local[1])
			have, seen := out[l.Kernel]
			if !seen {
				out[l.Kernel] = rules.Launch{Global: slices.Clone(l.Global), Local: slices.Clone(l.Local), Square: square}
				continue
			}
			have.Square = have.Square && square
			if !slices.Equal(have.Global, l.Global) {
				have.Global = nil
			}
			if !slices.Equal(have.Local, l.Local) {
				have.Local = nil
			}
			out[l.Kernel] = have
		}
	}
	return out
}
