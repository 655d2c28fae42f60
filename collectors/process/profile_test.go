package process_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

// A format whose content is the name of a GPU, or nothing.
func init() {
	collectors.Register(collectors.Format{Name: "pretend", Version: 1, Detect: func(collectors.Head) collectors.Confidence { return collectors.No },
		Parse: func(_ context.Context, in *collectors.Input, out *collectors.Output) error {
			gpu, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			for _, r := range []datasets.Record{
				&datasets.Run{ID: 1, Machine: 1, Tool: "t", Format: "pretend", Status: datasets.RunOK},
				&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: 1, Unit: "byte/s"},
				&datasets.Machine{ID: 1, Host: "file", CPU: "file", GPU: string(gpu), Arch: "cc9.0", Units: datasets.Some[int64](132)},
				&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "k", Short: "k"},
				&datasets.Launch{ID: 1, Run: 1, Region: 1},
			} {
				if err := out.Put(r); err != nil {
					return err
				}
			}
			return nil
		}})
}

func TestProfilesOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, gpu := range []string{"", "G", ""} {
		f := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(f, []byte(gpu), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	s, err := process.Describe(t.Context(), collectors.Job{Command: []string{"true"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Read(t.Context(), "pretend", files...)
	if err != nil {
		t.Fatal(err)
	}
	p.Failed(process.Result{Exit: 3})
	recs := &parsertest.Records{}
	if err := p.Write(collectors.NewOutput("x", recs), time.Unix(7, 0)); err != nil {
		t.Fatal(err)
	}
	// The two files without a GPU are about the subject's machine.
	machines := map[int64]datasets.Machine{}
	for _, m := range recs.Machines {
		if _, twice := machines[m.ID]; twice {
			t.Errorf("machine %d is there twice", m.ID)
		}
		machines[m.ID] = m
	}
	if len(machines) != 2 || len(recs.Runs) != 3 {
		t.Fatalf("%d machines, %d runs", len(machines), len(recs.Runs))
	}
	for i, gpu := range []string{s.Machine.GPU, "G", s.Machine.GPU} {
		run := recs.Runs[i]
		m := machines[run.Machine]
		if m.GPU != gpu || m.Host != s.Machine.Host || m.CPU != s.Machine.CPU || gpu == "G" && m.Units.V != 132 || recs.Ceilings[i].Machine != run.Machine {
			t.Errorf("run %d is on %+v", i, m)
		}
		if run.Command != "true" || run.EnvHash != s.EnvHash || run.Started.V.Unix() != 7 || run.Status != datasets.RunFailed || run.Error != "the command ended with exit status 3" {
			t.Errorf("run %+v", run)
		}
		if l := recs.Launches[i]; l.Run != run.ID || recs.Region(l.Region).Run != run.ID || recs.Ceilings[i].Run != run.ID {
			t.Errorf("launch %+v of run %d", l, run.ID)
		}
	}
}
