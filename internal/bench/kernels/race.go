package kernels

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rooflab/rooflab/internal/bench"
)

// Race is a comparison of two kernels.
type Race struct {
	Ours, Peer Kernel
	Root       string        // rooflab's source tree, which pins the modules of the cells
	Time       time.Duration // how long to go on with new rounds; the last is finished
	TableBytes int64         // size of the table that a cell loads
	Progress   func(line string)

	dir    string
	number int // of the next cell; each text is new
	ours   map[string][]float64
	peer   map[string][]float64
}

const (
	minRounds = 2
	edits     = 3 // edited cells in one kernel
	reads     = 3 // cells that read the loaded table
)

// editTarget and readTarget are what ours must reach: an edited cell no slower
// than the peer's, and a value that is still alive twenty times faster than
// one that the peer makes again.
const (
	editTarget = 1.0
	readTarget = 1.0 / 20
)

// Run races the kernels and leaves no process and no file behind.
func (r *Race) Run(ctx context.Context) (*bench.Report, error) {
	var err error
	if r.dir, err = os.MkdirTemp("", "rooflab-bench-"); err != nil {
		return nil, fmt.Errorf("making a folder for the benchmark: %w", err)
	}
	defer os.RemoveAll(r.dir)
	// A number nobody used before: both build caches keep what they saw.
	r.number = int(time.Now().Unix()%1e6) * 1000
	r.ours, r.peer = map[string][]float64{}, map[string][]float64{}
	for _, w := range works {
		if err := goModule(ctx, r.Root, r.module(w.name), w.imports); err != nil {
			return nil, err
		}
	}
	r.Progress("warming both build caches (not counted)")
	for _, w := range works {
		if err := r.round(ctx, w, 0, 1); err != nil {
			return nil, err
		}
	}
	clear(r.ours)
	clear(r.peer)
	begin := time.Now()
	p, err := r.table(ctx)
	if err != nil {
		return nil, err
	}
	rounds := 0
	var last time.Duration
	for ; rounds < minRounds || time.Since(begin)+last < r.Time; rounds++ {
		from := time.Now()
		for _, w := range works {
			r.Progress(fmt.Sprintf("round %d, %s (%.0f s of about %.0f)", rounds+1, w.name, time.Since(begin).Seconds(), r.Time.Seconds()))
			if err := r.round(ctx, w, rounds, edits); err != nil {
				return nil, err
			}
		}
		last = time.Since(from)
	}
	return r.report(p, rounds)
}

func (r *Race) module(name string) string { return filepath.Join(r.dir, "module-"+name) }

// pair starts both kernels; the module is for GoNB's cells.
func (r *Race) pair(ctx context.Context, module string) (ours, peer *process, err error) {
	from := time.Now()
	if ours, err = r.Ours.start(ctx, r.dir); err != nil {
		return nil, nil, err
	}
	r.note(r.ours, "start", time.Since(from).Seconds())
	from = time.Now()
	if peer, err = r.Peer.start(ctx, r.dir); err != nil {
		ours.stop()
		return nil, nil, err
	}
	r.note(r.peer, "start", time.Since(from).Seconds())
	if _, err := os.Stat(module); err == nil {
		if _, err := peer.cell(ctx, useModule(module)); err != nil {
			ours.stop()
			peer.stop()
			return nil, nil, err
		}
	}
	return ours, peer, nil
}

func (r *Race) note(to map[string][]float64, name string, seconds float64) {
	to[name] = append(to[name], seconds)
}

// turn runs a cell in both kernels, one after the other; odd turns begin with
// the peer.
func (r *Race) turn(ctx context.Context, name string, ours, peer *process, c cell, turn int) error {
	first, second, a, b := ours, peer, r.ours, r.peer
	if turn%2 == 1 {
		first, second, a, b = peer, ours, r.peer, r.ours
	}
	for _, x := range []struct {
		p  *process
		to map[string][]float64
	}{{first, a}, {second, b}} {
		seconds, err := x.p.cell(ctx, c)
		if err != nil {
			return err
		}
		r.note(x.to, name, seconds)
	}
	return nil
}

// round runs a kind of cell in two fresh kernels: the first cell, then edits,
// each followed by the same text again.
func (r *Race) round(ctx context.Context, w work, round, edits int) error {
	ours, peer, err := r.pair(ctx, r.module(w.name))
	if err != nil {
		return err
	}
	defer ours.stop()
	defer peer.stop()
	for i := range edits + 1 {
		kind := " edited"
		if i == 0 {
			kind = " first"
		}
		c := w.cell(r.next())
		if err := r.turn(ctx, w.name+kind, ours, peer, c, round+i); err != nil {
			return err
		}
		if i > 0 {
			if err := r.turn(ctx, w.name+" unchanged", ours, peer, c, round+i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Race) next() int { r.number++; return r.number }

// table loads a large table in one cell and reads it in later ones.
func (r *Race) table(ctx context.Context) (profile, error) {
	r.Progress(fmt.Sprintf("writing a table of %d MB", r.TableBytes/1e6))
	p, err := writeProfile(filepath.Join(r.dir, "profile.csv"), r.TableBytes)
	if err != nil {
		return p, err
	}
	defer os.Remove(p.path)
	module := r.module("table")
	if err := goModule(ctx, r.Root, module, profileImports); err != nil {
		return p, err
	}
	ours, peer, err := r.pair(ctx, module)
	if err != nil {
		return p, err
	}
	defer ours.stop()
	defer peer.stop()
	r.Progress("loading the table")
	if err := r.turn(ctx, "table load", ours, peer, p.load(r.next()), 0); err != nil {
		return p, err
	}
	for i := range reads {
		r.Progress(fmt.Sprintf("reading the loaded table, %d of %d", i+1, reads))
		c := p.read(r.next())
		if err := r.turn(ctx, "table read", ours, peer, c, i); err != nil {
			return p, err
		}
		if err := r.turn(ctx, "table read unchanged", ours, peer, c, i); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (r *Race) report(p profile, rounds int) (*bench.Report, error) {
	rep := &bench.Report{Machine: bench.Machine(), Notes: []string{
		fmt.Sprintf("%d rounds; in each a fresh kernel of ours and of %s per kind of cell, taking turns cell by cell; medians.", rounds, r.Peer.Name),
		"A time runs from sending execute_request until execute_reply and the idle status have arrived. Build caches were warmed before.",
		r.Peer.Name + " has its default settings; its go get for each cell works from the module cache (GOPROXY=off), without the latency of a network.",
		"first: the first cell of a fresh kernel. edited: a constant changed. unchanged: the same text again. start: until kernel_info is answered.",
		fmt.Sprintf("table: a CSV file of %.0f MB, %d launches with %d counters, loaded with gota in one cell; later ones, edited or run once more as they are, take the mean of a counter, for which %s loads it again.", float64(p.bytes)/1e6, p.rows, counters, r.Peer.Name),
	}}
	add := func(name string, target float64) error {
		x, err := bench.Compare(name, r.Peer.Name, "s", r.ours[name], r.peer[name])
		if err != nil {
			return err
		}
		x.Target = target
		rep.Results = append(rep.Results, x)
		return nil
	}
	for _, w := range works {
		for _, k := range []struct {
			kind   string
			target float64
		}{{" first", 0}, {" edited", editTarget}, {" unchanged", 0}} {
			if err := add(w.name+k.kind, k.target); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range []struct {
		name   string
		target float64
	}{{"table load", 0}, {"table read", readTarget}, {"table read unchanged", readTarget}, {"start", 0}} {
		if err := add(k.name, k.target); err != nil {
			return nil, err
		}
	}
	return rep, nil
}
