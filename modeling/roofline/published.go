package roofline

// published reads data sets that carry rates and intensities instead of
// counters: gpuFLOPBench's columns (Bolet et al. 2025), made from ncu's
// roofline section. Its rates are over the elapsed cycles, its time is ncu's
// duration, so amounts are rate x time. "traffic" is byte/s of DRAM.
type published struct{ counters }

// isPublished tells gpuFLOPBench's columns.
func isPublished(metrics map[string]float64) bool {
	_, time := metrics["xtime"]
	_, traffic := metrics["traffic"]
	return time && traffic
}

func (c published) time() Quantity {
	q := c.first("xtime")
	if q.OK && !(q.Value > 0) {
		return missing(q.From + " is not positive")
	}
	return q
}

func (c published) flop(p Precision) Quantity {
	switch p {
	case FP64:
		return product(c.first("dpPerf"), c.time())
	case FP32:
		return product(c.first("spPerf"), c.time())
	case FP16:
		return product(c.first("hpPerf"), c.time())
	case Int:
		return best(c.first("intops"), product(c.first("intPerf"), c.time()))
	}
	return missing("not in the data set")
}

func (c published) bytes(l Level) Quantity {
	if l == DRAM {
		return product(c.first("traffic"), c.time())
	}
	return missing("not in the data set")
}

func (published) peak(Precision) Quantity  { return missing("no ceiling in the data set") }
func (published) bandwidth(Level) Quantity { return missing("no ceiling in the data set") }
func (published) busy() Quantity           { return missing("no counter gives the use of a unit") }
