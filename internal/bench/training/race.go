package training

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/rooflab/rooflab/internal/bench"
	"github.com/rooflab/rooflab/internal/bench/pypi"
)

//go:embed peer.py
var peerProgram []byte

// pins are the peer, which brings NVIDIA's libraries along: PyPI has no wheel
// for Linux on x86-64 without them. They are not used.
var pins = []string{"torch==2.15.0", "numpy==2.4.6"}

// Race says what to measure.
type Race struct {
	// Ours is the command that serves an architecture (Serve); its name, the
	// seed and the path of the file for the peer are added.
	Ours []string
	// Peer is the command that does so for the peer, to which the architecture,
	// the path and the number of threads are added. Nil gets PyTorch.
	Peer          []string
	PeerName      string
	Architectures []Architecture
	Rounds        int
	Threads       int // of each side
	Seed          uint64
	Progress      func(line string)
}

const (
	target = 1 // of the ratios
	// Both sides compute in float32 in another order: the losses of the first
	// steps differ by some 1e-7 of themselves, and Adam amplifies it.
	compared  = 5
	tolerance = 1e-3
)

// Run measures and leaves no file behind, but for the peer's environment.
func (r *Race) Run(ctx context.Context) (*bench.Report, error) {
	dir, err := os.MkdirTemp("", "rooflab-bench-train-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the benchmark: %w", err)
	}
	defer os.RemoveAll(dir)
	if r.Peer == nil {
		py, err := pypi.Python(ctx, "bench-train", "PyTorch (some 5 GB, most of it NVIDIA's libraries, which its wheel asks for)", pins, r.Progress)
		if err != nil {
			return nil, err
		}
		script := filepath.Join(dir, "peer.py")
		if err := os.WriteFile(script, peerProgram, 0o600); err != nil {
			return nil, err
		}
		r.Peer, r.PeerName = []string{py, script}, "PyTorch, eager"
	}
	rep := &bench.Report{}
	for _, a := range r.Architectures {
		if err := r.architecture(ctx, a, dir, rep); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	rep.Machine = bench.Machine()
	rep.Notes = append(rep.Notes,
		fmt.Sprintf("float32, mean squared error, Adam (PyTorch's fused one), %d threads on each side, %d rounds in turn, the first of them not counted", r.Threads, r.Rounds),
		"both sides have glibc's malloc ask for huge pages and keep what is freed, as rooflab has it in all its processes, unless GLIBC_TUNABLES is set: both take less time with it",
		"a step goes from the batch in the host's memory to the loss as a number; its time is the median of a round's; memory is the peak resident set (VmHWM) of the side's process, compiler and libraries included",
		fmt.Sprintf("both sides began with the same weights; the losses of their first %d steps agree to %g of themselves", compared, tolerance))
	return rep, nil
}

// architecture races one, and adds to the report.
func (r *Race) architecture(ctx context.Context, a Architecture, dir string, rep *bench.Report) (err error) {
	r.Progress(a.Name + ": starting both sides")
	path := filepath.Join(dir, a.Name+".safetensors")
	threads := strconv.Itoa(r.Threads)
	// NPROC is how XLA's CPU client is told the size of its pool.
	ours, err := play(ctx, "rooflab", append(slices.Clone(r.Ours), a.Name, strconv.FormatUint(r.Seed, 10), path), []string{"NPROC=" + threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	peer, err := play(ctx, r.PeerName, append(slices.Clone(r.Peer), a.Name, path, threads), []string{"OMP_NUM_THREADS=" + threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.stop()) }()
	for i := range r.Rounds + 1 {
		for _, p := range []*player{ours, peer} {
			t, err := p.take(a.Steps)
			if err != nil {
				return err
			}
			p.losses = append(p.losses, t.Losses...)
			if i > 0 { // the first compiles, and fills caches
				p.seconds = append(p.seconds, median(t.Seconds))
				p.cpu = append(p.cpu, t.CPU/float64(a.Steps))
			}
		}
		if i > 0 {
			r.Progress(fmt.Sprintf("%s: round %d of %d, %.2f and %.2f ms", a.Name, i, r.Rounds, 1000*ours.seconds[i-1], 1000*peer.seconds[i-1]))
		}
	}
	if err := agree(ours, peer); err != nil {
		return err
	}
	step, err := bench.Compare(a.Name+", time of a step", r.PeerName, "ms", scaled(ours.seconds, 1000), scaled(peer.seconds, 1000))
	if err != nil {
		return err
	}
	memory, err := bench.Compare(a.Name+", peak memory", r.PeerName, "MB", []float64{ours.memory}, []float64{peer.memory})
	if err != nil {
		return err
	}
	step.Target, memory.Target = target, target
	rep.Results = append(rep.Results, step, memory)
	rep.Notes = append(rep.Notes,
		fmt.Sprintf("%s: %s; %s; %s", a.Name, a.About, ours.ready.About, peer.ready.About),
		fmt.Sprintf("%s: processor time of a step %.2f and %.2f ms; memory before the model %.0f and %.0f MB", a.Name,
			1000*median(ours.cpu), 1000*median(peer.cpu), ours.ready.Memory, peer.ready.Memory))
	return nil
}

// agree says whether both sides did the same.
func agree(ours, peer *player) error {
	for i := range min(compared, len(ours.losses), len(peer.losses)) {
		o, p := ours.losses[i], peer.losses[i]
		if !(math.Abs(o-p) <= tolerance*math.Abs(p)) {
			return fmt.Errorf("the loss of step %d is %g for %s and %g for %s: they do not train the same model, and the race is void", i+1, o, ours.name, p, peer.name)
		}
	}
	return nil
}

func scaled(x []float64, by float64) []float64 {
	y := slices.Clone(x)
	for i := range y {
		y[i] *= by
	}
	return y
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}
