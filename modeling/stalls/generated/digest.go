package generated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/stalls"
)

// Digested is what a process that digested a store says of it.
type Digested struct {
	Seconds  float64 `json:"seconds"`
	PeakMB   float64 `json:"peak_mb"` // of the process's resident memory, 1e6 bytes
	RawRows  int64   `json:"raw_rows"`
	RawBytes int64   `json:"raw_bytes"`
	Bytes    int     `json:"bytes"`   // of the digest
	Stalled  int64   `json:"stalled"` // samples, of all kernels
	Lines    []Place `json:"lines"`   // of which the digest has a statement
	Text     string  `json:"text"`
}

// Digest digests a store, and reports on the process that it runs in.
func Digest(ctx context.Context, path string) (d Digested, err error) {
	began := time.Now()
	s, err := datasets.Open(path, datasets.ReadOnly)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a, err := stalls.FromStore(ctx, s, stalls.Options{})
	if err != nil {
		return d, err
	}
	text, err := a.Digest(stalls.DigestOptions{Bytes: 16000})
	if err != nil {
		return d, err
	}
	d = Digested{Seconds: time.Since(began).Seconds(), RawRows: text.RawRows, RawBytes: text.RawBytes, Bytes: text.Bytes, Text: text.Text}
	short := map[string]string{}
	for _, k := range a.Kernels {
		short[k.Raw] = k.Name
		d.Stalled += k.Stalled()
	}
	for _, st := range text.Statements {
		for _, e := range st.Evidence {
			if e.Kind == stalls.OfLine {
				d.Lines = append(d.Lines, Place{short[e.Kernel], e.File, e.Line.V})
				break
			}
		}
	}
	d.PeakMB, err = peak()
	return d, err
}

// peak is the most memory that this process has had resident, in 1e6 bytes.
// What the system tells a parent of its child would not do: there, memory of
// the parent counts that the child had for a moment after its fork.
func peak() (float64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("reading the peak of resident memory: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
			if err != nil {
				return 0, fmt.Errorf("reading the peak of resident memory: %w", err)
			}
			return kb * 1024 / 1e6, nil
		}
	}
	return 0, errors.New("reading the peak of resident memory: /proc/self/status has no VmHWM")
}
