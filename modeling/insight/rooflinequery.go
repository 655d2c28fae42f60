package insight

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/roofline"
)

// aggregate writes quantities of launches as SQL over the kernel's launches.
type aggregate struct {
	of   func(roofline.Quantity) string // of one launch
	time roofline.Quantity
}

// total is the sum over launches.
func (a aggregate) total(q roofline.Quantity) string { return "sum(" + a.of(q) + ")" }

// mean is weighted with time, as roofline.ByKernel does it.
func (a aggregate) mean(q roofline.Quantity) string {
	if !a.time.OK {
		return "avg(" + a.of(q) + ")"
	}
	return fmt.Sprintf("(sum(%s * %s) / nullif(sum(%s), 0))", a.of(q), a.of(a.time), a.of(a.time))
}

func used(l limit) func(aggregate) string {
	return func(a aggregate) string {
		if l.rule == "sm" {
			return a.mean(l.used)
		}
		return rate(l)(a) + " / nullif(" + a.mean(l.ceiling) + ", 0)"
	}
}

func rate(l limit) func(aggregate) string {
	return func(a aggregate) string { return a.total(l.amount) + " / nullif(" + a.total(a.time) + ", 0)" }
}

// item completes an item of a value with the query that finds it again. It
// reports false where the value does not follow from counters of this run.
func (w rooflineWriter) item(ctx context.Context, v roofline.Quantity, expression func(aggregate) string, it Item) (Item, bool, error) {
	it.Kind, it.Kernel, it.Value, it.Share = Roofline, w.k.Name, v.Value, w.k.share()
	if f := v.From; it.Formula == "" && v.OK {
		it.Formula = f
	}
	if math.IsNaN(it.Value) {
		return it, false, nil
	}
	estimates := []string{it.Estimate, w.sampled}
	var names []string
	var ceilings []string
	ok := true
	write := func(column func(string) string) func(roofline.Quantity) string {
		return func(q roofline.Quantity) string {
			if f, err := w.formula(q); err == nil {
				for _, n := range f.names {
					if !slices.Contains(names, n) && w.sc.metrics[n] {
						names = append(names, n)
					}
				}
				return f.sql(column)
			}
			if kind, _, found := strings.Cut(q.From, ": "); q.From == roofline.Given || found && strings.HasPrefix(kind, "measured") || kind == "theoretical" {
				if !slices.Contains(ceilings, q.From) {
					ceilings = append(ceilings, q.From)
				}
				return fmt.Sprintf("%.17g", q.Value)
			}
			ok = false
			return "NULL"
		}
	}
	// Once for the names, which the table of launches needs as columns.
	expression(aggregate{write(func(string) string { return "" }), w.r.Time})
	if !ok || len(names) == 0 {
		return it, false, nil
	}
	with, column := w.sc.launches(w.k, names)
	it.Query = with + "\nSELECT " + expression(aggregate{write(func(n string) string {
		v, fact := w.facts[n]
		switch {
		case n == "dur_ns":
			return "(d * 1e9)"
		case !w.sc.metrics[n] && fact:
			return fmt.Sprintf("%.17g", v)
		}
		return column(n)
	}), w.r.Time}) + " FROM l"
	for _, q := range w.quantities() {
		if _, text, found := strings.Cut(q.From, "{estimate: "); found && strings.Contains(it.Formula, q.From) {
			estimates = append(estimates, strings.TrimSuffix(text, "}"))
		}
	}
	for _, c := range ceilings {
		estimates = append(estimates, "the ceiling is "+clean(c, 120))
	}
	it.Estimate = strings.Join(slices.DeleteFunc(estimates, func(s string) bool { return s == "" }), "; ")
	var err error
	if w.sampled != "" { // the query knows all launches
		if it.Value, err = number(ctx, w.sc.store, it.Query); err != nil {
			return it, false, err
		}
	}
	it.Sources, err = w.sc.counterRows(ctx, w.k, names)
	if err != nil || len(ceilings) == 0 {
		return it, err == nil, err
	}
	it.Sources[0].Rows = append(it.Sources[0].Rows, w.sc.ceilingRows(ctx, w.sc.machine)...)
	more, err := w.sc.namedRows(ctx)
	it.Sources = append(it.Sources, more...)
	return it, err == nil, err
}

// formula reads what a quantity was made of. Every name must be a counter of
// the run, a fact of the machine, an estimate from the IR, or the duration of
// launches.
func (w rooflineWriter) formula(q roofline.Quantity) (formula, error) {
	text := q.Formula()
	f, rest, err := w.sc.parsePrefix(text)
	if err != nil {
		return f, err
	}
	if rest != "" {
		return f, fmt.Errorf("%q is left over of the formula %q", rest, text)
	}
	for _, n := range f.names {
		if _, fact := w.facts[n]; !w.sc.metrics[n] && n != "dur_ns" && !(fact && (strings.HasPrefix(n, "machine.") || strings.HasPrefix(n, "estimate_") || strings.HasPrefix(n, "run."))) {
			return f, fmt.Errorf("the formula %q has %q, which the run did not count", q.From, n)
		}
	}
	return f, nil
}

func (w rooflineWriter) quantities() []roofline.Quantity {
	out := []roofline.Quantity{w.r.Time, w.r.SM}
	for _, x := range w.r.Work {
		out = append(out, x.Flop, x.Ceiling)
	}
	for _, x := range w.r.Traffic {
		out = append(out, x.Bytes, x.Ceiling)
	}
	return out
}
