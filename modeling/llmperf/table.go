package llmperf

import (
	"errors"
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
	"github.com/rooflab/rooflab/modeling/predict"
)

// Texts of a table that a Model reads.
const (
	textSource, textKernel, textArgs = "source", "kernel", "args"
	textGlobal, textLocal            = "global_size", "local_size"
	textPattern                      = "pattern"
)

// Table makes examples a table for package predict, which baselines learn from,
// too: its features are kernelcost.FeatureNames (all NaN where the analysis
// fails), its texts source, kernel, args, global_size, local_size and pattern.
// It keeps of each row how often places of the source are executed, which a Model
// is told, too.
// Without a single measured example it has no targets; one that is measured
// among others that are not is an error.
func Table(xs []Example) (*predict.Examples, error) {
	if len(xs) == 0 {
		return nil, errors.New("making a table of launches: there are none")
	}
	e := &predict.Examples{Features: kernelcost.FeatureNames(), Target: "time", Unit: "s", Texts: map[string][]string{}}
	programs := map[string]*kernelcost.Program{}
	measured := 0
	for _, x := range xs {
		if x.Seconds > 0 {
			measured++
		}
	}
	if measured != 0 && measured != len(xs) {
		return nil, fmt.Errorf("making a table of launches: %d of %d have a time: leave out those without", measured, len(xs))
	}
	for _, x := range xs {
		p := programs[x.Source]
		if p == nil {
			p = kernelcost.Parse(x.Source, csource.Options{})
			programs[x.Source] = p
		}
		c := analysed(p, x)
		features := missing()
		if c != nil {
			features = c.Features()
		}
		e.X, e.Kept = append(e.X, features), append(e.Kept, countsOf(c))
		group := x.Group
		if group == "" {
			x.identify("")
			group = x.Group
		}
		e.Groups = append(e.Groups, group)
		if measured > 0 {
			e.Y = append(e.Y, x.Seconds)
		}
		for _, t := range []struct{ name, value string }{
			{textSource, x.Source}, {textKernel, x.Kernel}, {textArgs, arguments(x.Args)},
			{textGlobal, sizes(x.Global)}, {textLocal, sizes(x.Local)}, {textPattern, x.Pattern},
		} {
			e.Texts[t.name] = append(e.Texts[t.name], t.value)
		}
	}
	return e, nil
}

// launchOf is a launch for kernelcost.
func launchOf(x Example) kernelcost.Launch {
	l := kernelcost.Launch{Kernel: x.Kernel, Scalars: map[string]float64{}, Bytes: map[string]int64{}, Fill: map[string]kernelcost.Fill{}, Global: x.Global, Local: x.Local}
	for _, a := range x.Args {
		switch {
		case a.Name == "":
		case a.Kind == Scalar && len(a.Values) == 1 && !math.IsNaN(a.Values[0]):
			l.Scalars[a.Name] = a.Values[0]
		case a.Kind == Buffer || a.Kind == Local:
			l.Bytes[a.Name] = a.Bytes
			if f, ok := a.fill(); ok {
				l.Fill[a.Name] = f
			}
		}
	}
	return l
}

// analysed is what kernelcost finds of a launch, nil where it cannot analyse it.
func analysed(p *kernelcost.Program, x Example) *kernelcost.Cost {
	c, err := p.Analyse(launchOf(x))
	if err != nil {
		return nil
	}
	return c
}

// missing are the features of a launch that cannot be analysed.
func missing() []float64 {
	row := make([]float64, len(kernelcost.FeatureNames()))
	for i := range row {
		row[i] = unknown()
	}
	return row
}

// row is row r of a table as an example, without what is only for splits.
func row(e *predict.Examples, r int) (Example, error) {
	x := Example{Seconds: unknown(), Spread: unknown()}
	for _, name := range []string{textSource, textArgs, textGlobal, textLocal} {
		if e.Texts[name] == nil {
			return x, fmt.Errorf("the table of examples has no text %q: make it with llmperf.Table", name)
		}
	}
	x.Source = e.Texts[textSource][r]
	if k := e.Texts[textKernel]; k != nil {
		x.Kernel = k[r]
	}
	var err error
	if x.Args, err = ParseArguments(e.Texts[textArgs][r]); err == nil {
		if x.Global, err = Sizes(e.Texts[textGlobal][r]); err == nil {
			x.Local, err = Sizes(e.Texts[textLocal][r])
		}
	}
	if err != nil {
		return x, fmt.Errorf("row %d of the table of examples: %w", r, err)
	}
	return x, nil
}
