package ocllaunch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	version  = 1
	headLine = `{"rooflab-opencl-launches": `
	runID    = 1
)

func init() {
	collectors.Register(collectors.Format{Name: Format, About: "launches of OpenCL kernels, written by rooflab's layer", Version: 1, Detect: detect, Parse: parse})
}

func detect(h collectors.Head) collectors.Confidence {
	if bytes.HasPrefix(h.Bytes, []byte(headLine)) {
		return collectors.Certain
	}
	return collectors.No
}

// Launch is a line of the file.
type Launch struct {
	Kernel string   `json:"kernel"`
	Global []int64  `json:"global"`
	Local  []int64  `json:"local"` // none: the driver chose
	Start  *int64   `json:"start_ns"`
	End    *int64   `json:"end_ns"`
	Args   []string `json:"args"`
}

// Read reads one line after the first. What it returns has a kernel, sizes that
// are above 0, and either no local size or one that divides nothing by 0.
func Read(line []byte) (Launch, error) {
	var l Launch
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	switch {
	case l.Kernel == "":
		return l, errors.New("a launch without the name of its kernel")
	case len(l.Global) < 1 || len(l.Global) > 3:
		return l, fmt.Errorf("a launch of %s in %d dimensions; 1 to 3 are expected", l.Kernel, len(l.Global))
	case len(l.Local) != 0 && len(l.Local) != len(l.Global):
		return l, fmt.Errorf("a launch of %s with a global size in %d dimensions and a local one in %d", l.Kernel, len(l.Global), len(l.Local))
	case l.Start != nil && l.End != nil && *l.End < *l.Start:
		return l, fmt.Errorf("a launch of %s that ended before it began", l.Kernel)
	}
	for _, sizes := range [][]int64{l.Global, l.Local} {
		for _, n := range sizes {
			if n < 1 {
				return l, fmt.Errorf("a launch of %s with a size of %d", l.Kernel, n)
			}
		}
	}
	return l, nil
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	run := datasets.Run{ID: runID, Tool: "opencl", Format: Format, FormatVersion: strconv.Itoa(version), Status: datasets.RunOK, TimeMetric: "kernel_time"}
	regions := map[string]int64{}
	id, first := int64(0), int64(0)
	for line, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		if line.Number == 1 {
			if text := string(line.Text); text != headLine+strconv.Itoa(version)+"}" {
				e := in.Syntax(1, 1, "no launches of OpenCL kernels, or of another version")
				e.Expected, e.Found = headLine+strconv.Itoa(version)+"}", collectors.Quote(text)
				return e
			}
			continue
		}
		if !line.Ended {
			return in.Cut(line.Number, len(line.Text), "run the program again: it was ended while it wrote")
		}
		if len(bytes.TrimSpace(line.Text)) == 0 {
			continue
		}
		l, err := Read(line.Text)
		if err != nil {
			return in.Syntax(line.Number, 1, err.Error())
		}
		region, known := regions[l.Kernel]
		if !known {
			region = int64(len(regions) + 1)
			regions[l.Kernel] = region
			if err := out.Put(&datasets.Region{ID: region, Run: runID, Kind: datasets.KindKernel, Raw: l.Kernel, Short: l.Kernel}); err != nil {
				return err
			}
		}
		if l.Start != nil && id == 0 {
			first = *l.Start
		}
		id++
		if err := put(out, l, id, region, first); err != nil {
			return err
		}
	}
	if id == 0 {
		run.Status, run.Error = datasets.RunEmpty, "the program launched no kernel"
		out.Warn(0, 0, "%s", run.Error)
	}
	return out.Put(&run)
}

func put(out *collectors.Output, l Launch, id, region, first int64) error {
	rec := datasets.Launch{ID: id, Run: runID, Region: region, Sequence: datasets.Some(id - 1)}
	for i := range 3 {
		if len(l.Local) == 0 {
			break
		}
		rec.Grid[i], rec.Block[i] = datasets.Some[int64](1), datasets.Some[int64](1)
		if i < len(l.Global) {
			rec.Block[i] = datasets.Some(l.Local[i])
			rec.Grid[i] = datasets.Some((l.Global[i]-1)/l.Local[i] + 1)
		}
	}
	time := datasets.Counter{Run: runID, Region: region, Launch: id, Metric: "kernel_time", Unit: "s", Status: datasets.StatusUnsupported}
	if l.Start != nil && l.End != nil {
		ns := *l.End - *l.Start
		rec.StartNs, rec.DurNs = datasets.Some(*l.Start-first), datasets.Some(ns)
		time.Value, time.Status, time.RawValue, time.RawUnit = datasets.Some(float64(ns)/1e9), datasets.StatusOK, strconv.FormatInt(ns, 10), "ns"
	}
	records := []datasets.Record{&rec, &time}
	for _, a := range [][2]string{{"global_size", join(l.Global)}, {"local_size", join(l.Local)}, {"args", strings.Join(l.Args, " ")}} {
		if a[1] != "" {
			records = append(records, &datasets.Attribute{Run: runID, Launch: id, Name: a[0], Value: a[1]})
		}
	}
	for _, r := range records {
		if err := out.Put(r); err != nil {
			return err
		}
	}
	return nil
}

func join(ns []int64) string {
	var s []string
	for _, n := range ns {
		s = append(s, strconv.FormatInt(n, 10))
	}
	return strings.Join(s, ",")
}
