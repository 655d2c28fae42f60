package parsertest

import (
	"context"
	"flag"
	"io"
	"testing"

	"github.com/rooflab/rooflab/collectors"
)

// Collect runs a collector with flags, as on a command line, and returns what
// it emits.
func Collect(t testing.TB, name string, flags []string, job collectors.Job) (*Records, error) {
	t.Helper()
	c, err := collectors.LookupCollector(name)
	if err != nil {
		t.Fatal(err)
	}
	return CollectWith(t, c.New, flags, job)
}

// CollectWith is Collect with the function that makes the collector.
func CollectWith(t testing.TB, build func(*flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error, flags []string, job collectors.Job) (*Records, error) {
	t.Helper()
	fs := flag.NewFlagSet("collect", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	collect := build(fs)
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*io.Writer{&job.Stdout, &job.Stderr, &job.Log} {
		if *w == nil {
			*w = io.Discard
		}
	}
	recs := &Records{}
	out := collectors.NewOutput("collect", recs)
	err := collect(t.Context(), job, out)
	recs.Warnings = out.Warnings
	return recs, err
}

// Attribute returns the first attribute of a name, "" where there is none.
func (r *Records) Attribute(name string) string {
	for _, a := range r.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}
