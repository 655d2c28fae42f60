package agents

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/review"
	moved "github.com/rooflab/rooflab/agents/review/chart"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/insight"
	"github.com/rooflab/rooflab/modeling/roofline"
	roofs "github.com/rooflab/rooflab/modeling/roofline/chart"
)

// MachineStore is a store in the folder of a run that rooflines take the
// ceilings of the machine from, where it is there: rooflab collect machine
// makes it.
const MachineStore = "machine.db"

// Moves are the metrics that the evidence of what was kept cites, or its edits
// predict, and stall reasons where the profile has any, each with its value in
// the original and in the result.
func (r *Result) Moves() []moved.Move {
	c := r.final()
	if c == nil || len(r.Rounds) == 0 {
		return nil
	}
	ev := r.evidenceOf(c, r.Rounds[0].Evidence, r.Measurements)
	units := map[string]string{"time": "s"}
	var names []string
	predicted := map[string]review.Fate{}
	name := func(s string) {
		if s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	name("time")
	for _, k := range r.lineage(c) {
		for _, o := range k.Outcomes {
			if o.Rejected != nil {
				continue
			}
			for _, p := range o.Edit.Predictions {
				name(p.Metric)
				predicted[p.Metric] = review.Judge(p, ev).Fate
			}
			for _, id := range o.Edit.Evidence {
				if i, ok := r.Rounds[k.Round-1].Evidence.Report.Find(id); ok {
					name(metricOf(i))
					if metricOf(i) == i.Metric {
						units[i.Metric] = i.Unit
					}
				}
			}
		}
	}
	var stalls []string
	for metric := range ev.Before {
		if strings.HasPrefix(metric, "pc_sample:") {
			stalls = append(stalls, metric)
		}
	}
	slices.Sort(stalls)
	for _, s := range stalls {
		name(s)
	}
	var out []moved.Move
	for _, n := range names {
		b, ok := ev.Before[n]
		a, ok2 := ev.After[n]
		if ok && ok2 {
			out = append(out, moved.Move{Metric: n, Unit: units[n], Before: b, After: a, Fate: predicted[n]})
		}
	}
	return out
}

// metricOf is the name that a report's item has among the metrics of Evidence.
func metricOf(i insight.Item) string {
	if i.Formula != "" && !strings.Contains(i.Formula, "{") {
		return i.Formula
	}
	return i.Metric
}

// evidenceOf is what a candidate's edits are held against: a profile before and
// its own, with the time that measurements give.
func (r *Result) evidenceOf(c *Candidate, before *Evidence, ms []Measurement) review.Evidence {
	ev := review.Evidence{}
	if before != nil {
		ev.Report = before.Report
	}
	if c.Round > 0 && c.Round <= len(r.Rounds) {
		ev.Supplied = r.Rounds[c.Round-1].Supplied
	}
	if len(ms) == 0 {
		return ev
	}
	ev.Before, ev.After = align.Values{}, align.Values{}
	if c.After != nil && before != nil {
		ev.Before, ev.After = before.Values(), c.After.Values()
	}
	if b, a := float64(ms[0].BeforeMed), float64(ms[0].AfterMed); b > 0 && a > 0 {
		ev.Before["time"], ev.After["time"] = b, a
	}
	return ev
}

// Roofline is the hottest kernel of the original, and the same kernel of the
// result, in the roofline model. Where the profile counts and does not time, the
// time is an estimate: the measured time of the program times the kernel's share
// of what was counted. An error says what is lacking.
func (r *Result) Roofline(ctx context.Context) (before, after roofline.Result, err error) {
	c := r.final()
	if c == nil || c.After == nil || len(r.Rounds) == 0 {
		return before, after, errors.New("no roofline: nothing was kept")
	}
	machine, err := r.ceilings(ctx)
	if err != nil {
		return before, after, fmt.Errorf("no roofline: %w", err)
	}
	first := r.Rounds[0].Evidence
	if len(first.Report.Kernels) == 0 {
		return before, after, errors.New("no roofline: the profile names no kernel")
	}
	kernel := first.Report.Kernels[0].Name
	m, size, ok := r.profiledSize()
	for _, s := range []struct {
		e       *Evidence
		seconds Number
		to      *roofline.Result
	}{{first, m.BeforeMed, &before}, {c.After, m.AfterMed, &after}} {
		seconds := roofline.Quantity{Value: float64(s.seconds), OK: ok, From: fmt.Sprintf("%.4g s", float64(s.seconds))}
		if !ok {
			seconds.From = fmt.Sprintf("size %s was profiled and not timed: name it among other_sizes", size)
		}
		if *s.to, err = r.roofline(ctx, s.e, kernel, seconds, machine); err != nil {
			return before, after, fmt.Errorf("no roofline: %w", err)
		}
	}
	return before, after, nil
}

// profiledSize is the measurement of the size that was profiled.
func (r *Result) profiledSize() (m Measurement, size string, ok bool) {
	if r.target != nil {
		if s := r.target.Inputs.Sizes; len(s) > 0 {
			size = s[0]
		}
		if p := r.target.Profile; p != nil && p.Size != "" {
			size = p.Size
		}
	}
	for _, m := range slices.Concat(r.Measurements, r.Others) {
		if m.Size == size && m.Failed == "" {
			return m, size, true
		}
	}
	return Measurement{}, size, false
}

// ceilings are those of MachineStore, none where it is not there.
func (r *Result) ceilings(ctx context.Context) (roofline.Ceilings, error) {
	path := filepath.Join(r.Dir, MachineStore)
	if _, err := os.Stat(path); err != nil {
		return roofline.Ceilings{}, nil
	}
	s, err := datasets.Open(path, datasets.ReadOnly)
	if err != nil {
		return roofline.Ceilings{}, err
	}
	defer s.Close()
	run := int64(0)
	err = s.Each(ctx, func(v []any) { run, _ = v[0].(int64) },
		`SELECT max(u.id) FROM run u JOIN ceiling c ON c.machine_id = u.machine_id`)
	if err != nil || run == 0 {
		return roofline.Ceilings{}, err
	}
	return roofline.CeilingsOf(ctx, s, run)
}

func (r *Result) roofline(ctx context.Context, e *Evidence, kernel string, seconds roofline.Quantity, machine roofline.Ceilings) (roofline.Result, error) {
	path := filepath.Join(r.Dir, filepath.FromSlash(e.Store))
	if _, err := os.Stat(path); err != nil {
		return roofline.Result{}, fmt.Errorf("the profile of %s is gone: %w", e.Program, err)
	}
	s, err := datasets.Open(path, datasets.ReadOnly)
	if err != nil {
		return roofline.Result{}, err
	}
	defer s.Close()
	ls, err := roofline.FromStore(ctx, s, datasets.Filter{Run: e.Run, Kernel: kernel})
	if err != nil {
		return roofline.Result{}, err
	}
	if len(ls) == 0 {
		return roofline.Result{}, fmt.Errorf("the profile of %s counts nothing of %s", e.Program, kernel)
	}
	if share, unit := shareOf(e.Report, kernel); !ls[0].Time.OK && len(ls) == 1 && share > 0 {
		ls[0].Time = seconds
		if seconds.OK {
			ls[0].Time.Value *= share
			ls[0].Time.From = fmt.Sprintf("%.4g x %s {estimate: the measured time of the program times the kernel's share of %s}", share, seconds.From, unit)
		}
	}
	rs := roofline.ByKernel(roofline.AnalyseAll(ls, roofline.Options{Ceilings: machine}))
	return rs[0], nil
}

// shareOf is a kernel's part of what the profile shares out, and what that is.
func shareOf(r *insight.Report, kernel string) (float64, string) {
	for _, k := range r.Kernels {
		if k.Name == kernel && k.Share != nil {
			return *k.Share, "what the profile counts (" + k.Unit + ")"
		}
	}
	return 0, ""
}

// pictures are the roofline and the moves, as parts of a page. They are made
// once, since stores are opened for it.
func (r *Result) pictures() string {
	r.drawing.Do(func() { r.drawn = r.draw() })
	return r.drawn
}

func (r *Result) draw() string {
	if r.final() == nil {
		return ""
	}
	e := display.Escape
	var b strings.Builder
	b.WriteString(`<h3>Roofline, before and after</h3>`)
	before, after, err := r.Roofline(context.Background())
	var p *plot.Plot
	if err == nil {
		p, err = roofs.Change(before, after)
	}
	if err == nil {
		err = picture(&b, p, roofs.Width, roofs.Height, rooflineText(before, after))
	}
	if err != nil {
		b.WriteString(`<div class="more">` + e(err.Error()) + `</div>`)
	} else {
		var notes []string
		for _, n := range slices.Concat(before.Notes, after.Notes) {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
		if _, err := os.Stat(filepath.Join(r.Dir, MachineStore)); err != nil {
			notes = append(notes, "ceilings that were measured on this machine: rooflab collect machine --store "+filepath.Join(r.Dir, MachineStore))
		}
		if len(notes) > 0 {
			b.WriteString(`<details><summary>What to know of these numbers</summary><ul>`)
			for _, n := range notes {
				b.WriteString(`<li>` + e(n) + `</li>`)
			}
			b.WriteString(`</ul></details>`)
		}
	}
	b.WriteString(`<h3>What the evidence cites, before and after</h3>`)
	moves := r.Moves()
	p, err = moved.Plot(moves)
	if err == nil {
		err = picture(&b, p, moved.Width, moved.Height(len(moves)), movesText(moves))
	}
	if err != nil {
		b.WriteString(`<div class="more">` + e(err.Error()) + `</div>`)
	}
	if !slices.ContainsFunc(moves, func(m moved.Move) bool { return strings.HasPrefix(m.Metric, "pc_sample:") }) {
		b.WriteString(`<div class="more">The profile has no samples of why instructions wait: there are no stalls to compare.</div>`)
	}
	return b.String()
}

// picture writes a plot as an image that brings its white ground, and runs
// nothing.
func picture(b *strings.Builder, p *plot.Plot, width, height vg.Length, text string) error {
	c := vgsvg.New(width, height)
	margin := vg.Points(8) // browsers may have a wider type
	p.Draw(draw.Crop(draw.New(c), margin, -margin, margin/2, -margin/2))
	var svg bytes.Buffer
	if _, err := c.WriteTo(&svg); err != nil {
		return err
	}
	fmt.Fprintf(b, `<div class="picture"><img alt="%s" width="%.0f" src="data:image/svg+xml;base64,%s"></div>`,
		display.Escape(text), width.Dots(96), base64.StdEncoding.EncodeToString(svg.Bytes()))
	return nil
}

// rooflineText says the picture in words.
func rooflineText(before, after roofline.Result) string {
	p, _ := before.Dominant()
	return fmt.Sprintf("Roofline of %s: %s at %.3g flop/byte at DRAM and %.3g flop/s before, %.3g flop/byte and %.3g flop/s after",
		before.Kernel, p, before.Intensity(roofline.DRAM, p).Value, before.Work[p].Rate.Value, after.Intensity(roofline.DRAM, p).Value, after.Work[p].Rate.Value)
}

func movesText(moves []moved.Move) string {
	var parts []string
	for _, m := range moves {
		parts = append(parts, fmt.Sprintf("%s from %.4g to %.4g", m.Metric, m.Before, m.After))
	}
	return "Before and after: " + strings.Join(parts, "; ")
}
