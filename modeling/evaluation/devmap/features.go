package devmap

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// The features by what they are made from.
var (
	// raw are the columns of the table.
	raw = append(slices.Clone(static), "transfer", "wgsize")
	// combined are Grewe's four (Grewe, Wang and O'Boyle 2013, as Cummins et al.
	// 2017 compute them).
	combined = []string{"F1: transfer/(comp+mem)", "F2: coalesced/mem", "F3: localmem/mem x wgsize", "F4: comp/mem"}
)

const (
	tokenPrefix = "token "
	pairPrefix  = "pair "
	costPrefix  = "cost "
)

// least is how many sources a token or pair must stand in to be a feature. It
// is counted without looking at run times.
const least = 5

// nominal is about how many work-items a launch is taken to have for its cost:
// the table does not tell, so that costs are those of a work-item.
const nominal = 16384

// examples makes the table that all predictors learn from. The target is by
// how much the GPU is faster: the CPU's time over the GPU's. Groups are the
// source texts.
func examples(ls []launch) (*predict.Examples, error) {
	e := &predict.Examples{Features: slices.Concat(raw, combined), Target: "run time on the CPU / on the GPU"}
	for _, l := range ls {
		s := l.static
		row := make([]float64, 0, len(e.Features))
		for _, name := range static {
			v, ok := s[name]
			if !ok {
				v = math.NaN()
			}
			row = append(row, v)
		}
		row = append(row, l.transfer, l.group, l.transfer/(s["comp"]+s["mem"]), s["coalesced"]/s["mem"], s["localmem"]/s["mem"]*l.group, s["comp"]/s["mem"])
		for i, v := range row {
			if math.IsInf(v, 0) {
				row[i] = math.NaN()
			}
		}
		e.X, e.Y, e.Groups = append(e.X, row), append(e.Y, l.cpu/l.gpu), append(e.Groups, l.source)
	}
	if err := addTokens(e); err != nil {
		return nil, err
	}
	return e, addCosts(e, ls)
}

// addTokens counts the tokens of each source, and pairs of neighbours, after
// names and literals gave way to what they are.
func addTokens(e *predict.Examples) error {
	counts := map[string]map[string]float64{} // by source
	in := map[string]int{}
	for _, source := range e.Groups {
		if counts[source] != nil {
			continue
		}
		tokens, err := tokens(source)
		if err != nil {
			return err
		}
		c := map[string]float64{}
		for i, t := range tokens {
			c[tokenPrefix+t]++
			if i > 0 {
				c[pairPrefix+tokens[i-1]+" "+t]++
			}
		}
		counts[source] = c
		for name := range c {
			in[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if in[name] < least {
			continue
		}
		e.Features = append(e.Features, name)
		for r, source := range e.Groups {
			e.X[r] = append(e.X[r], counts[source][name])
		}
	}
	return nil
}

// tokens splits a source. What it declares becomes v (a variable), g (one of
// the file) or f (a function), and literals become what they are.
func tokens(source string) ([]string, error) {
	text, err := tokenize.Normalize(tokenize.C, tokenize.Normalization{Rename: true, Space: tokenize.MinimalSpace}, source)
	if err != nil {
		return nil, err
	}
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range pieces {
		t := text[p.Start:p.End]
		switch p.Kind {
		case tokenize.Space, tokenize.Newline:
			continue
		case tokenize.Number:
			t = "integer"
			if hex := strings.HasPrefix(text[p.Start:p.End], "0x"); !hex && strings.ContainsAny(text[p.Start:p.End], ".eEfF") {
				t = "real"
			}
		case tokenize.Word:
			if kind := strings.TrimRight(t, "0123456789"); kind != t && (kind == "v" || kind == "g" || kind == "f") {
				t = kind
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// addCosts analyses what a launch executes by its text.
func addCosts(e *predict.Examples, ls []launch) error {
	for _, name := range kernelcost.FeatureNames() {
		e.Features = append(e.Features, costPrefix+name)
	}
	programs := map[string]*kernelcost.Program{}
	for r, l := range ls {
		p := programs[l.source]
		if p == nil {
			p = kernelcost.Parse(l.source, csource.Options{})
			programs[l.source] = p
		}
		group := max(int64(l.group), 1)
		kernels := p.Unit.Kernels()
		if len(kernels) == 0 {
			return fmt.Errorf("row %d, %s: its source has no kernel", r+1, l.kernel)
		}
		c, err := p.Analyse(kernelcost.Launch{Kernel: kernels[len(kernels)-1], Global: []int64{(nominal + group - 1) / group * group}, Local: []int64{group}})
		if err != nil {
			return fmt.Errorf("row %d, %s: %w", r+1, l.kernel, err)
		}
		e.X[r] = append(e.X[r], c.Features()...)
	}
	return nil
}
