package published

import (
	"context"
	"errors"
	"io"
	"regexp"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

var deeptune = collectors.Format{
	Name: "deeptune-devmap", Version: 1,
	About:  "DeepTune: OpenCL kernels with run times on a CPU and a GPU (CSV)",
	Detect: header(",benchmark,dataset,comp,rational,mem,localmem,coalesced,atomic,transfer,wgsize,oracle"),
	Parse:  parseDeepTune,
}

// deeptuneFeatures are Grewe's static counts.
var deeptuneFeatures = []string{"comp", "rational", "mem", "localmem", "coalesced", "atomic"}

// The table does not name the unit of its run times, so they have none here:
// only their ratio is used, which is what the study predicts.
var deeptuneMetrics = []metric{{"runtime_cpu", "", "", 1}, {"runtime_gpu", "", "", 1}, {"transfer", "byte", "byte", 1}}

// suite splits "amd-app-sdk-3.0-BinomialOption-binomial_options" into program
// and kernel: the kernel is what follows the last hyphen.
var suite = regexp.MustCompile(`^(.*)-([^-]+)$`)

// parseDeepTune makes one kernel of each benchmark and one launch of each row
// (a benchmark on one of its data sets); the work-group size is the block.
func parseDeepTune(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	t, err := open(in, "benchmark", "dataset", "transfer", "wgsize", "oracle", "runtime_cpu", "runtime_gpu", "src")
	if err != nil {
		return err
	}
	if err := put(out, &datasets.Run{ID: 1, Tool: "DeepTune", Format: "deeptune-devmap", Status: datasets.RunOK}); err != nil {
		return err
	}
	kernels := regions{}
	for id := int64(1); ; id++ {
		if err := t.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		// The source belongs to the key: a few benchmarks have several.
		name := t.text("benchmark")
		k, first := kernels.id(name + "\x1f" + t.text("src"))
		if first {
			program, short := name, name
			if m := suite.FindStringSubmatch(name); m != nil {
				program, short = m[1], m[2]
			}
			if err := put(out, &datasets.Region{ID: k, Run: 1, Kind: datasets.KindKernel, Raw: name, Short: short},
				&datasets.Attribute{Run: 1, Region: k, Name: "program", Value: program},
				&datasets.Code{ID: 2*k - 1, Run: 1, Region: k, ISA: "source", Text: t.text("src")}); err != nil {
				return err
			}
			if seq := t.text("seq"); seq != "" {
				if err := out.Put(&datasets.Code{ID: 2 * k, Run: 1, Region: k, ISA: "deeptune-tokens", Text: seq}); err != nil {
					return err
				}
			}
			for _, f := range deeptuneFeatures {
				v, err := t.number(f)
				if err != nil {
					return err
				}
				if err := out.Put(&datasets.StaticFeature{Run: 1, Region: k, Name: f, Value: v}); err != nil {
					return err
				}
			}
		}
		l := datasets.Launch{ID: id, Run: 1, Region: k, Sequence: datasets.Some(id - 1)}
		if l.Block[0], err = t.integer("wgsize"); err != nil {
			return err
		}
		if err := out.Put(&l); err != nil {
			return err
		}
		if err := t.counters(out, datasets.Counter{Run: 1, Region: k, Launch: id}, deeptuneMetrics); err != nil {
			return err
		}
		if err := t.attributes(out, datasets.Attribute{Run: 1, Region: k, Launch: id}, "dataset", "oracle"); err != nil {
			return err
		}
	}
}
