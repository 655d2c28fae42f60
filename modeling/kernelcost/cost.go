package kernelcost

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// Program is a source text that was read. It may be used by several goroutines.
type Program struct {
	Unit      *csource.Unit
	source    string
	functions map[string]*csource.Function
	idle      map[csource.Expr]bool // what comes to nothing: see idler
	facts     []*loopFacts
}

// Parse reads the text of kernels. It does not fail: what is not understood is
// in Unit.Problems, and counts as unread where a kernel executes it.
func Parse(source string, opt csource.Options) *Program {
	p := &Program{source: source, Unit: csource.Parse(source, opt), functions: map[string]*csource.Function{}}
	p.facts = make([]*loopFacts, p.Unit.Nodes)
	for _, f := range p.Unit.Functions {
		if have := p.functions[f.Name]; have == nil || len(have.Params) == 0 {
			p.functions[f.Name] = f
		}
	}
	p.idle = map[csource.Expr]bool{}
	for _, f := range p.Unit.Functions {
		idleOf(f, p.functions, p.idle)
		csource.Walk(f.Body, func(n any) bool {
			if l, ok := n.(*csource.Loop); ok {
				p.facts[l.ID] = factsOf(l, p.functions)
			}
			return true
		})
	}
	return p
}

// kernel finds the function to analyse.
func (p *Program) kernel(name string) (*csource.Function, error) {
	if f := p.Unit.Find(name); f != nil && f.Body != nil {
		return f, nil
	}
	names := p.Unit.Kernels()
	if name == "" && len(names) == 1 {
		return p.Unit.Find(names[0]), nil
	}
	found := "it has none"
	if len(names) > 0 {
		found = "it has " + strings.Join(names, ", ")
	}
	first := ""
	if len(p.Unit.Problems) > 0 {
		first = fmt.Sprintf("; the first thing not understood is in line %d: %s", p.Unit.Problems[0].Line, p.Unit.Problems[0].Text)
	}
	if name == "" {
		return nil, fmt.Errorf("looking for the kernel of a source: a name is needed where there is not one alone; %s%s", found, first)
	}
	return nil, fmt.Errorf("looking for kernel %s in its source: %s%s", name, found, first)
}

// Analyse estimates what a launch executes. Errors are a kernel that is not
// there and a geometry that no device takes; all else is in the result.
func (p *Program) Analyse(l Launch) (*Cost, error) {
	fn, err := p.kernel(l.Kernel)
	if err != nil {
		return nil, err
	}
	l.Kernel = fn.Name
	g, err := l.geometry()
	if err != nil {
		return nil, err
	}
	r := &run{p: p, g: g, launch: &l, assume: l.Assume.filled(), unrolled: 1, share: 1, noted: map[string]bool{}, arrays: map[*csource.Variable]*object{}}
	var w []float64
	r.ids, w, r.warp = g.sample(l.Seed)
	r.lanes = len(w)
	r.tally = make([]*lineTally, p.Unit.Lines+1)
	r.places, r.called = map[spot]float64{}, map[string]float64{}
	r.sites = make([][3]*site, p.Unit.Nodes)
	r.exec(r.begin(fn, w), fn.Body)
	if r.over {
		r.note("the analysis stopped after %d steps: counts are too low", mostSteps)
	}
	return r.result(fn), nil
}

// Analyse reads a source and analyses one launch of it; flags are a compiler's.
func Analyse(source, flags string, l Launch) (*Cost, error) {
	return Parse(source, csource.Options{Flags: flags}).Analyse(l)
}
