package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// Profile is what files say that a tool wrote about a subject.
type Profile struct {
	Subject  *Subject
	Runs     []*datasets.Run // in Records: change them before Put
	Records  []datasets.Record
	gpus     map[int64]bool // machines of Records
	warnings []collectors.Warning
}

// Read reads files that a tool wrote about the subject with the formats that
// are registered. Their machine becomes the subject's, unless it tells of a
// GPU, of which the tool knows more. format is the name of the format, or ""
// to detect it.
func (s *Subject) Read(ctx context.Context, format string, files ...string) (*Profile, error) {
	p := &Profile{Subject: s}
	m := &collectors.Merge{To: p}
	m.Reserve("machine", s.Machine.ID)
	for _, f := range files {
		m.Next()
		_, warnings, err := collectors.ParseFile(ctx, f, collectors.Options{Format: format}, m)
		if err != nil {
			return nil, err
		}
		p.warnings = append(p.warnings, warnings...)
	}
	return p, nil
}

// Put keeps a record.
func (p *Profile) Put(r datasets.Record) error {
	switch v := r.(type) {
	case *datasets.Run:
		p.Runs = append(p.Runs, v)
	case *datasets.Machine:
		if v.GPU == "" {
			return nil
		}
		if p.gpus == nil {
			p.gpus = map[int64]bool{}
		}
		p.gpus[v.ID] = true
		own := p.Subject.Machine
		v.Host, v.CPU = own.Host, own.CPU
		if v.Driver == "" {
			v.Driver = own.Driver
		}
	}
	p.Records = append(p.Records, r)
	return nil
}

// Write writes what was read, and the subject's machine where a run is of it,
// each run completed with what is known of the subject.
func (p *Profile) Write(out *collectors.Output, started time.Time) error {
	// A record may come before the machine that it names, so that what each is
	// about is known only now.
	own := p.Subject.Machine.ID
	used := false
	machine := func(id *int64) {
		if !p.gpus[*id] {
			*id, used = own, true
		}
	}
	for _, r := range p.Records {
		switch v := r.(type) {
		case *datasets.Run:
			machine(&v.Machine)
		case *datasets.Ceiling:
			machine(&v.Machine)
		}
	}
	if used {
		if err := out.Put(&p.Subject.Machine); err != nil {
			return err
		}
	}
	for _, run := range p.Runs {
		p.Subject.Complete(run, started)
		if err := p.Subject.PutAttributes(out, run.ID); err != nil {
			return err
		}
	}
	for _, r := range p.Records {
		if err := out.Put(r); err != nil {
			return err
		}
	}
	for _, w := range p.warnings {
		out.Warn(0, 0, "%s: %s", filepath.Base(w.File), w.Msg)
	}
	return nil
}

// Failed says on every run that the command did not succeed, where it did not.
func (p *Profile) Failed(r Result) {
	for _, run := range p.Runs {
		if !r.OK() && run.Status == datasets.RunOK {
			run.Status, run.Error = datasets.RunFailed, fmt.Sprintf("the command ended with %s", r)
		}
	}
}

// PutLaunches writes the command as a region of run 1 and each result as a
// launch of it: region 1, launches 1, 2 and so on.
func (s *Subject) PutLaunches(out datasets.Sink, results ...Result) error {
	err := out.Put(&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindRange, Raw: s.Command, Short: s.Program})
	if err != nil {
		return err
	}
	for i, r := range results {
		l := datasets.Launch{ID: int64(i + 1), Run: 1, Region: 1, PID: datasets.Some(int64(r.PID)), Sequence: datasets.Some(int64(i)),
			StartNs: datasets.Some(r.Start.Sub(results[0].Start).Nanoseconds()), DurNs: datasets.Some(r.Usage.Wall.Nanoseconds())}
		if err := out.Put(&l); err != nil {
			return err
		}
	}
	return nil
}

// PutMissing writes a run that measured nothing, for want of something.
func (s *Subject) PutMissing(out datasets.Sink, run datasets.Run, missing *collectors.MissingError) error {
	missing.Mark(&run)
	return s.Put(out, run)
}

// Tool finds a tool in PATH. fix says how to get it.
func Tool(name, fix string) (string, *collectors.MissingError) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &collectors.MissingError{Status: datasets.RunUnavailable, What: "the tool " + name + " is not in PATH", Fix: fix}
	}
	return path, nil
}

// Ask runs a tool for a short answer, such as its version, and returns its
// standard output; "" where it fails or takes longer than ten seconds.
func Ask(ctx context.Context, argv ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var out strings.Builder
	if r, err := Run(ctx, Command{Argv: argv, Stdout: &out}); err != nil || !r.OK() {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// Tail returns the last lines of a tool's log, on one line, for an error.
func Tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, l := range all {
		all[i] = strings.TrimSpace(l)
	}
	return strings.Join(all, " | ")
}

// Scratch makes a folder for files that a tool writes; remove deletes it.
func Scratch(name string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "rooflab-"+name+"-")
	return dir, func() { _ = os.RemoveAll(dir) }, err // what is left is the system's to clean
}
