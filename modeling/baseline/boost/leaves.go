package boost

// leaf is a leaf of a growing tree.
type leaf struct {
	node     int32 // in the tree
	depth    int
	rows     []int32
	hist     []sums
	total    sums
	lo, hi   float64 // bounds of its value, by monotone features above
	split    candidate
	position int // in the order of making, to break ties
}

type leaves []*leaf

func (l leaves) Len() int { return len(l) }

func (l leaves) Less(i, j int) bool {
	if l[i].split.gain != l[j].split.gain {
		return l[i].split.gain > l[j].split.gain
	}
	return l[i].position < l[j].position
}

func (l leaves) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

func (l *leaves) Push(x any) { *l = append(*l, x.(*leaf)) }

func (l *leaves) Pop() any {
	old := *l
	x := old[len(old)-1]
	*l = old[:len(old)-1]
	return x
}
