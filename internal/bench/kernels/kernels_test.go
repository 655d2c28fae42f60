package kernels

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rooflab/rooflab/kernel/jupyter"
	"github.com/rooflab/rooflab/kernel/session"
	"github.com/rooflab/rooflab/kernel/session/scripted"
)

// asKernel makes the test binary a kernel with a scripted session.
const asKernel = "ROOFLAB_BENCH_TEST_KERNEL"

func TestMain(m *testing.M) {
	if os.Getenv(asKernel) == "" {
		os.Exit(m.Run())
	}
	if err := serve(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(file string) error {
	conn, err := jupyter.ReadConnection(file)
	if err != nil {
		return err
	}
	s := scripted.New(map[string]scripted.Step{
		"good":  {Events: []session.Event{session.Stream{Name: "stdout", Text: "the answer is 42\n"}}},
		"shows": {Events: []session.Event{session.Display{Bundle: scripted.Text("a picture")}}},
		"bad":   {Error: &session.Error{Name: "panic", Value: "boom", Traceback: []string{"panic: boom at In[1]:1"}}},
	})
	server, err := jupyter.Listen(jupyter.Config{Connection: conn, Log: os.Stderr, Start: func() (session.Session, error) { return s, nil }})
	if err != nil {
		return err
	}
	return server.Run(context.Background())
}

func TestCellsAreTimedOnlyIfTheyDoWhatTheyShould(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Kernel{Name: "scripted", Command: []string{self}, Env: []string{asKernel + "=1"}}.start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cell cell
		want string // in the error; empty: none
	}{
		{cell{code: "good", prints: "answer is 42"}, ""},
		{cell{code: "good", prints: "answer is 43"}, `should print "answer is 43", it printed "the answer is 42\n"`},
		{cell{code: "quiet", prints: "anything"}, `it printed ""`}, // execute_reply says ok
		{cell{code: "shows", shows: "text/plain"}, ""},
		{cell{code: "shows", shows: "image/png"}, "should show image/png"},
		{cell{code: "bad"}, "panic: boom at In[1]:1"},
	} {
		seconds, err := p.cell(t.Context(), tt.cell)
		switch {
		case tt.want == "" && (err != nil || seconds <= 0):
			t.Errorf("%+v: %v s, %v", tt.cell, seconds, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%+v: error %v, want %q in it", tt.cell, err, tt.want)
		}
	}
	p.stop()
	if err := syscall.Kill(-p.cmd.Process.Pid, 0); err != syscall.ESRCH {
		t.Errorf("after stop the kernel's process group: %v, want that there is none", err)
	}
}

func TestKernelThatEndsAtOnceIsReportedWithItsLog(t *testing.T) {
	k := Kernel{Name: "broken", Command: []string{"sh", "-c", "echo no goimports here >&2; exit 3"}}
	_, err := k.start(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "no goimports here") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v, want the kernel's name and log", err)
	}
}

// The mean that cells must print is held against another reading of the file.
func TestProfileHasTheSizeAndMeanItSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.csv")
	const size = 200_000
	p, err := writeProfile(path, size)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() != p.bytes || p.bytes < size || p.bytes > size+1000 {
		t.Fatalf("the file: %v, %v; want %d bytes, about %d", st.Size(), err, p.bytes, size)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	header, err := r.Read()
	if err != nil || header[2] != "dur_ns" || len(header) != 3+counters {
		t.Fatalf("header %q, %v", header, err)
	}
	sum, rows := 0.0, 0
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
		rows++
	}
	if rows != p.rows || math.Abs(sum/float64(rows)-p.meanDur) > 1e-6*p.meanDur {
		t.Errorf("read %d rows of mean %g, want %d of %g", rows, sum/float64(rows), p.rows, p.meanDur)
	}
}

func TestEditsDifferInAConstantOnly(t *testing.T) {
	for _, w := range works {
		a, b := w.cell(1001), w.cell(1002)
		if a.code == b.code || strings.ReplaceAll(a.code, "1001", "1002") != b.code {
			t.Errorf("%s: the edit\n%s\nand\n%s", w.name, a.code, b.code)
		}
		if a.prints == "" && a.shows == "" {
			t.Errorf("%s: nothing is checked", w.name)
		}
	}
}
