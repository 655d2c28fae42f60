package predict

import (
	"fmt"
	"math"
)

// decades is the span beyond which an amount is taken by its logarithm.
const decades = 100

// clip is how many standard deviations from the mean a value may lie; farther
// ones are held there, since a linear model would go astray with them.
const clip = 10

// Scale turns features into inputs of comparable size: logarithms of amounts
// that span decades, then mean 0 and standard deviation 1 on the rows that it
// was fitted on. A feature that was unknown in some of these rows gives a
// second input, 1 where it is unknown; its first is then 0, the mean.
type Scale struct {
	Columns []Column `json:"columns"`
}

// Column is how one feature is scaled.
type Column struct {
	Name  string  `json:"name"`
	Log   bool    `json:"log,omitempty"`   // take log(x + Floor), x not negative
	Floor float64 `json:"floor,omitempty"` // half the smallest positive value
	Mean  float64 `json:"mean"`
	Scale float64 `json:"scale"`
	Flag  bool    `json:"flag,omitempty"` // a second input says that the value is unknown
}

// FitScale fits a Scale to the values of the features in n rows, NaN where
// unknown. Features without information are dropped, with the reason.
func FitScale(features []string, n int, value func(row, feature int) float64) (s Scale, dropped []Dropped) {
	for j, name := range features {
		c := Column{Name: name}
		smallest, largest, lowest := math.Inf(1), 0.0, math.Inf(1)
		var have []float64
		for r := range n {
			v := value(r, j)
			if math.IsNaN(v) {
				c.Flag = true
				continue
			}
			have = append(have, v)
			lowest = math.Min(lowest, v)
			if v > 0 {
				smallest, largest = math.Min(smallest, v), math.Max(largest, v)
			}
		}
		if len(have) == 0 {
			dropped = append(dropped, Dropped{name, "no value in the training rows"})
			continue
		}
		if lowest >= 0 && largest > decades*smallest {
			c.Log, c.Floor = true, smallest/2
		}
		for i, v := range have {
			have[i] = c.transform(v)
		}
		c.Mean, c.Scale = Moments(have)
		if c.Scale == 0 {
			if !c.Flag {
				dropped = append(dropped, Dropped{name, "the same value in all training rows"})
				continue
			}
			c.Scale = 1 // it varies only in being missing
		}
		s.Columns = append(s.Columns, c)
	}
	return s, dropped
}

func (c Column) transform(v float64) float64 {
	if c.Log {
		return math.Log(math.Max(v, 0) + c.Floor)
	}
	return v
}

// Names are the features that inputs are made of.
func (s Scale) Names() []string {
	ns := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		ns[i] = c.Name
	}
	return ns
}

// Width is the number of inputs.
func (s Scale) Width() int {
	w := len(s.Columns)
	for _, c := range s.Columns {
		if c.Flag {
			w++
		}
	}
	return w
}

// Row are the inputs for one row of features, by column of s. Values far
// outside what was seen in fitting are held at ten standard deviations.
func (s Scale) Row(value func(column int) float64) []float64 {
	row := make([]float64, 0, s.Width())
	for i, c := range s.Columns {
		v := value(i)
		z, flag := 0.0, 1.0
		if !math.IsNaN(v) {
			z, flag = math.Max(-clip, math.Min(clip, (c.transform(v)-c.Mean)/c.Scale)), 0
		}
		row = append(row, z)
		if c.Flag {
			row = append(row, flag)
		}
	}
	return row
}

// Table are the inputs for all rows of a table.
func (s Scale) Table(e *Examples) ([][]float64, error) {
	x, err := e.Columns(s.Names())
	if err != nil {
		return nil, err
	}
	for r, row := range x {
		x[r] = s.Row(func(i int) float64 { return row[i] })
	}
	return x, nil
}

// Check says whether a scale that was read from a file can be used.
func (s Scale) Check() error {
	for _, c := range s.Columns {
		if !(c.Scale > 0) || c.Name == "" || c.Log && !(c.Floor > 0) {
			return fmt.Errorf("the scale of feature %q is %g with floor %g: want positive numbers", c.Name, c.Scale, c.Floor)
		}
	}
	return nil
}

// Moments are mean and standard deviation (of the population), which is 0 for
// values that are equal but for rounding.
func Moments(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean) / float64(len(xs))
	}
	sd = math.Sqrt(sd)
	if sd <= 1e-12*math.Abs(mean) { // rounding of equal values
		sd = 0
	}
	return mean, sd
}

// Inputs fits s to the features of e and gives the inputs and the logarithms
// of the target; d gets the features read and those dropped.
func (d *Description) Inputs(s *Scale, e *Examples) (x [][]float64, logY []float64, err error) {
	*s, d.Dropped = FitScale(e.Features, e.Len(), func(r, j int) float64 { return e.X[r][j] })
	if len(s.Columns) == 0 {
		return nil, nil, fmt.Errorf("none of the %d features tells anything: each is unknown or the same in all %d rows", len(e.Features), e.Len())
	}
	d.Features = s.Names()
	x, err = s.Table(e)
	return x, e.LogY(), err
}
