package train

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Array is a block of numbers, row after row. Exactly one of Float32 and Int32
// is set, and holds as many values as Dims multiply to.
type Array struct {
	Dims    []int
	Float32 []float32
	Int32   []int32
}

// Len is the number of values that Dims promise.
func (a Array) Len() int {
	n := 1
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// Batch is what a model sees at once. The first axis of every array counts
// the examples.
type Batch struct {
	IDs    []int // indices of the examples
	Inputs []Array
	Labels []Array
}

// Bytes is the memory that the arrays take.
func (b Batch) Bytes() int64 {
	var n int64
	for _, a := range slices.Concat(b.Inputs, b.Labels) {
		n += 4 * int64(a.Len())
	}
	return n
}

func (b Batch) check() error {
	if len(b.Inputs) == 0 {
		return fmt.Errorf("the batch of examples %v has no inputs", b.IDs)
	}
	for i, a := range slices.Concat(b.Inputs, b.Labels) {
		what := fmt.Sprintf("input %d", i)
		if i >= len(b.Inputs) {
			what = fmt.Sprintf("label array %d", i-len(b.Inputs))
		}
		if len(a.Dims) == 0 || a.Dims[0] != len(b.IDs) {
			return fmt.Errorf("%s of a batch of %d examples has dimensions %v: the first must count the examples", what, len(b.IDs), a.Dims)
		}
		if n := len(a.Float32) + len(a.Int32); n != a.Len() || (len(a.Float32) > 0 && len(a.Int32) > 0) {
			return fmt.Errorf("%s of dimensions %v holds %d float32 and %d int32 values, want %d of one kind", what, a.Dims, len(a.Float32), len(a.Int32), a.Len())
		}
	}
	return nil
}

// Examples is a data set to learn from. Its answers must not change between
// calls, or between processes: that is what makes a resumed run exact.
type Examples interface {
	Len() int
	// Length is how long example i is (tokens), for bucketing; 0 where examples
	// are all of one size.
	Length(i int) int
	// Batch arranges examples as arrays, sequences padded (or cut) to length.
	Batch(ids []int, length int) (Batch, error)
	// Hash names the content: equal hashes, equal data.
	Hash() string
}

// Part is the examples of a batch and the length that they are padded to.
type Part struct {
	IDs    []int
	Length int
}

// Plan deals the examples of one epoch into batches of one size and, by
// bucket, of one length, in an order that depends on (seed, epoch) alone.
//
// An example goes into the shortest bucket that holds it, and into the longest
// when none does (Examples.Batch then cuts it). What is left in a bucket after
// its full batches is padded into the next longer one, so that fewer than
// batch examples are left out in an epoch, other ones each time. Without
// buckets all lengths are padded to the longest example's. The number of
// batches is the same in every epoch.
func Plan(x Examples, buckets []int, batch int, seed uint64, epoch int) []Part {
	rng := rand.New(rand.NewPCG(seed, uint64(epoch)^0x65706f6368))
	order := rng.Perm(x.Len())
	filled, sorted := deal(x, buckets, order)
	var parts []Part
	var rest []int
	for i, ids := range filled {
		ids = append(rest, ids...)
		for len(ids) >= batch {
			parts = append(parts, Part{ids[:batch:batch], sorted[i]})
			ids = ids[batch:]
		}
		rest = slices.Clone(ids)
	}
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

// All deals every example once, in order, for evaluation: the last batch of a
// bucket can be smaller.
func All(x Examples, buckets []int, batch int) []Part {
	order := make([]int, x.Len())
	for i := range order {
		order[i] = i
	}
	filled, sorted := deal(x, buckets, order)
	var parts []Part
	for i, ids := range filled {
		for c := range slices.Chunk(ids, batch) {
			parts = append(parts, Part{c, sorted[i]})
		}
	}
	return parts
}

func deal(x Examples, buckets, order []int) (filled [][]int, sorted []int) {
	sorted = slices.Clone(buckets)
	slices.Sort(sorted)
	if len(sorted) == 0 {
		longest := 0
		for i := range x.Len() {
			longest = max(longest, x.Length(i))
		}
		sorted = []int{longest}
	}
	filled = make([][]int, len(sorted))
	for _, i := range order {
		b, _ := slices.BinarySearch(sorted, x.Length(i))
		b = min(b, len(sorted)-1)
		filled[b] = append(filled[b], i)
	}
	return filled, sorted
}

// padded is a batch of exactly batch examples: a smaller part is filled up
// with its first example, so that one compiled program serves all.
func padded(x Examples, p Part, batch int) (Batch, error) {
	ids := p.IDs
	for len(ids) < batch {
		ids = append(slices.Clip(ids), p.IDs[0])
	}
	return assemble(x, Part{ids, p.Length})
}

func assemble(x Examples, p Part) (Batch, error) {
	b, err := x.Batch(p.IDs, p.Length)
	if err != nil {
		return b, fmt.Errorf("making a batch of examples %v: %w", p.IDs, err)
	}
	b.IDs = p.IDs
	return b, b.check()
}
