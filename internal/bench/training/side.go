package training

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// A side answers each line of its standard input, a number of steps, with one
// line of JSON: a turn. Before the first it says Ready.
type turn struct {
	Seconds []float64 `json:"seconds"` // wall time of each step
	Losses  []float64 `json:"losses"`  // of each step, before it
	CPU     float64   `json:"cpu"`     // processor seconds of all steps
	Memory  float64   `json:"memory"`  // peak resident set so far, MB
	About   string    `json:"about"`   // what runs
}

// rate is Adam's learning rate on both sides.
const rate = 1e-4

// Serve is our side: it writes the first weights and the batch to the file
// path, for the peer, and takes steps as in says until it ends.
func Serve(a Architecture, seed uint64, path string, in io.Reader, out io.Writer) error {
	perCall := max(a.PerCall, 1)
	n, err := gomlx.New(a.Model, train.Options{Seed: seed, Backend: "xla:cpu", Clip: -1, Decay: -1, PerCall: perCall})
	if err != nil {
		return err
	}
	defer n.Close()
	b := a.Batch(rand.New(rand.NewPCG(seed, 0x7472))) //nolint:gosec // a benchmark's data
	before := peak()
	if err := n.Prepare(b); err != nil {
		return err
	}
	state, err := n.State()
	if err != nil {
		return err
	}
	if err := train.WriteFile(path, append(weights(state), tensor("input", b.Inputs[0]), tensor("label", b.Labels[0])), a.Name); err != nil {
		return err
	}
	write := json.NewEncoder(out)
	about := n.About()
	says := fmt.Sprintf("%s, %d parameters", about.Backend, about.Parameters)
	if perCall > 1 {
		says += fmt.Sprintf(", %d steps in a call (train.Options.PerCall), whose time they share", perCall)
	}
	batches, rates := slices.Repeat([]train.Batch{b}, perCall), slices.Repeat([]float64{rate}, perCall)
	if err := write.Encode(turn{Memory: before, About: says}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		count, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil || count < 1 || count%perCall != 0 {
			return fmt.Errorf("a turn of %q steps: want a multiple of %d", lines.Text(), perCall)
		}
		var t turn
		cpu := processorSeconds()
		for range count / perCall {
			began := time.Now()
			all, err := n.Steps(batches, rates)
			if err != nil {
				return err
			}
			took := time.Since(began).Seconds() / float64(perCall)
			for _, res := range all {
				t.Seconds, t.Losses = append(t.Seconds, took), append(t.Losses, res.Loss)
			}
		}
		t.CPU, t.Memory = processorSeconds()-cpu, peak()
		if err := write.Encode(t); err != nil {
			return err
		}
	}
	return lines.Err()
}

// weights are the tensors of a state that are learnt.
func weights(s train.State) (w train.State) {
	for _, t := range s {
		if !strings.HasPrefix(t.Name, "/adamw/") && t.DType == "F32" {
			w = append(w, t)
		}
	}
	return w
}

func tensor(name string, a train.Array) train.Tensor {
	t := train.Tensor{Name: name, DType: "F32", Dims: a.Dims}
	for _, v := range a.Float32 {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	if a.Int32 != nil {
		t.DType = "I32"
		for _, v := range a.Int32 {
			t.Data = binary.LittleEndian.AppendUint32(t.Data, uint32(v)) //nolint:gosec // the bits
		}
	}
	return t
}

func processorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak is this process's VmHWM in MB of 1e6 bytes; not a number where the
// system does not tell.
func peak() float64 {
	mb, err := peakOf("/proc/self/status")
	if err != nil {
		return math.NaN()
	}
	return mb
}

func peakOf(status string) (float64, error) {
	data, err := os.ReadFile(status)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, errors.New(status + " has no VmHWM")
}
