// Package judge says before anything is measured which candidates are worth
// measuring. In flow a program and others that were made of it; out flow Verdicts:
// how many times as fast each is expected to be, with an interval, or why nothing
// can be said of it. Who judges are the packages below:
//
//	modeled   a run time model of OpenCL kernels, over source and launch
//	learned   a linear model of speed-ups over Changes, fitted to the history
//
// A verdict is no result: what is kept is measured all the same, and the
// optimizer records how verdicts came true.
package judge

import (
	"context"
	"math"

	"github.com/rooflab/rooflab/agents/edit"
)

// Program is a version of what is optimized.
type Program struct {
	ID       string
	Language string // of the sources: "c", "opencl" ...
	Sources  []edit.Source
	// Launches are those of its kernels, as they were seen in a profile of the base.
	// None: the program has no kernels, or they are not known.
	Launches []Launch
	// Transformation is the one of package rules that made it of the base, "" where
	// that is not known.
	Transformation string
}

// Launch is one of a kernel.
type Launch struct {
	Kernel        string
	Global, Local []int64 // work-items; no Local is a choice of the driver
	// Args are arguments as collectors/opencl describes them, one string for all.
	Args string
	// Count is how often it was launched, at least 1.
	Count int
}

// Verdict is what a judge says of a candidate.
type Verdict struct {
	// Speedup is the time of the base over that of the candidate; NaN where nothing
	// can be said, and Why says why.
	Speedup float64
	// Low and High are meant to hold the measured speed-up with probability Level.
	// 0 and +Inf: no bound is known.
	Low, High, Level float64
	Why              string
}

// Known says that something was said.
func (v Verdict) Known() bool { return !math.IsNaN(v.Speedup) }

// Unknown says why nothing can be said.
func Unknown(why string) Verdict {
	return Verdict{Speedup: math.NaN(), Low: 0, High: math.Inf(1), Why: why}
}

// Level is the probability of the judges' intervals. A higher one takes more
// programs in the history, or kernels held out from a model, than most have.
const Level = 0.8

// Judge ranks candidates.
type Judge interface {
	// Name is its name in records: what it was made from is part of it.
	Name() string
	// Rank gives a verdict on each candidate. An error says that it could judge none
	// of them, and not that one of them is bad.
	Rank(ctx context.Context, base Program, candidates []Program) ([]Verdict, error)
}
