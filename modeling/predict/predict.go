// Package predict is what all models of performance have in common: a table
// of examples in flows, a value with an interval for each row out.
//
// A Learner fits a Model, which predicts the logarithm of a positive target
// (time in seconds, energy in joules) from features by name. Conformal turns
// any Learner into one whose predictions have intervals, made from groups
// (kernels) that the model did not see. Save and Load keep what was fitted.
//
//	Examples -> Learner.Fit -> Model -> Conformal -> Predictor -> []Prediction
//
// Linear, nearest-neighbour, boosted and analytical models live in
// modeling/baseline and below; package compare holds them against each other.
package predict

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Prediction is a value in the unit of the target, with the interval that
// holds the measured value at the level asked for. Where too few groups were
// held out for that level, Low is 0 and High +Inf.
type Prediction struct{ Value, Low, High float64 }

// String shows value and interval.
func (p Prediction) String() string {
	return fmt.Sprintf("%.4g (%.4g to %.4g)", p.Value, p.Low, p.High)
}

// Predictor predicts with intervals.
type Predictor interface {
	// Predict gives one prediction per row of e; level is the coverage wanted of
	// the intervals, between 0 and 1. It reads the features by name: their order
	// does not matter, further ones are ignored, a missing one is an error.
	Predict(ctx context.Context, e *Examples, level float64) ([]Prediction, error)
	Describe() Description
}

// Fitter fits predictors. Equal examples, in whatever order of rows and of
// features, and equal seeds give equal predictors.
type Fitter interface {
	Fit(ctx context.Context, e *Examples, seed uint64) (Predictor, error)
}

// Model predicts the natural logarithm of the target; it knows no interval.
type Model interface {
	// Log gives one value per row of e.
	Log(ctx context.Context, e *Examples) ([]float64, error)
	Describe() Description
}

// Spread is a Model that knows how far off it may be in each row. Intervals
// are wider where it says so.
type Spread interface {
	Model
	// Spread gives distances in the logarithm of the target, positive, below and
	// above the value of Log: one pair per row. Their common scale is free.
	Spread(ctx context.Context, e *Examples) (below, above []float64, err error)
}

// Learner fits Models.
type Learner interface {
	Fit(ctx context.Context, e *Examples, seed uint64) (Model, error)
}

// Description says what a predictor is and what it was made from.
type Description struct {
	Kind     string   `json:"kind"`     // "ridge", "boosted trees"
	Detail   string   `json:"detail"`   // the settings, and what was chosen how
	Target   string   `json:"target"`   // with its unit
	Features []string `json:"features"` // those that it reads
	// Dropped are features that were offered and not learnt from, with reasons.
	Dropped []Dropped `json:"dropped,omitempty"`
	Rows    int       `json:"rows"`   // fitted on, those held out for intervals not counted
	Groups  int       `json:"groups"` // that these rows are of
	Data    string    `json:"data"`   // Examples.Hash of what it was fitted on, rows held out for intervals included
	Seed    uint64    `json:"seed"`
	// Interval says how intervals are made, "" where there are none.
	Interval string   `json:"interval,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Dropped is a column that was not learnt from, and why.
type Dropped struct {
	Column string `json:"column"`
	Reason string `json:"reason"`
}

// String is a few lines of text.
func (d Description) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s from %d features, %d rows of %d groups, seed %d", d.Kind, d.Target, len(d.Features), d.Rows, d.Groups, d.Seed)
	line := func(head, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s%s", head, text)
		}
	}
	line("", d.Detail)
	line("intervals: ", d.Interval)
	for _, x := range d.Dropped {
		line("not learnt from: ", x.Column+": "+x.Reason)
	}
	for _, w := range d.Warnings {
		line("warning: ", w)
	}
	line("data ", d.Data)
	return b.String()
}

// About fills in a Description what follows from the examples.
func About(kind string, e *Examples, seed uint64) Description {
	target := e.Target
	if e.Unit != "" {
		target += " (" + e.Unit + ")"
	}
	return Description{Kind: kind, Target: target, Rows: e.Len(), Groups: len(e.groupNames()), Data: e.Hash(), Seed: seed}
}

// A Codec decodes the Models of one kind, as their MarshalJSON wrote them.
type Codec func(model json.RawMessage) (Model, error)
