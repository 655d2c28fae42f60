package boost

import (
	"math"
	"slices"
)

// maxBins leaves one of 256 for unknown values.
const maxBins = 255

// binned is a table of features as bin numbers, column after column.
type binned struct {
	edges [][]float64 // per feature: a value v is in bin b if edges[b-1] < v <= edges[b]
	bin   [][]uint8   // per feature, per row; len(edges)+1 is unknown
}

// bins are the number of bins of feature j that hold values.
func (b *binned) bins(j int) int { return len(b.edges[j]) + 1 }

// unknown is the bin of feature j for rows without its value.
func (b *binned) unknown(j int) uint8 { return uint8(len(b.edges[j]) + 1) }

// binUp cuts each feature between its distinct values: half-way where there
// are few of them, else so that bins hold about equally many rows.
func binUp(x [][]float64, features, most int) *binned {
	b := &binned{edges: make([][]float64, features), bin: make([][]uint8, features)}
	values := make([]float64, 0, len(x))
	for j := range features {
		values = values[:0]
		for _, row := range x {
			if !math.IsNaN(row[j]) {
				values = append(values, row[j])
			}
		}
		slices.Sort(values)
		b.edges[j] = cut(values, most)
		b.bin[j] = make([]uint8, len(x))
		for r, row := range x {
			if math.IsNaN(row[j]) {
				b.bin[j][r] = b.unknown(j)
				continue
			}
			at, _ := slices.BinarySearch(b.edges[j], row[j])
			b.bin[j][r] = uint8(at)
		}
	}
	return b
}

// cut gives at most most-1 edges between sorted values.
func cut(sorted []float64, most int) []float64 {
	distinct := slices.Compact(slices.Clone(sorted))
	var edges []float64
	between := func(i int) float64 { // distinct values i and i+1
		mid := distinct[i]/2 + distinct[i+1]/2
		if !(mid < distinct[i+1]) || mid < distinct[i] { // neighbouring numbers, or denormal ones
			mid = distinct[i]
		}
		return mid
	}
	if len(distinct) <= most {
		for i := range len(distinct) - 1 {
			edges = append(edges, between(i))
		}
		return edges
	}
	last := -1
	for b := 1; b < most; b++ {
		v := sorted[b*len(sorted)/most]
		i, _ := slices.BinarySearch(distinct, v)
		// The bin ends below v, so that v begins the next.
		if i = i - 1; i > last && i >= 0 {
			edges = append(edges, between(i))
			last = i
		}
	}
	return edges
}
