package roofline

// published reads tables that carry rates or counts of the algorithm instead of
// counters:
//
//   - gpuFLOPBench's columns (Bolet et al. 2025), made from ncu's roofline
//     section. Its rates are over the elapsed cycles, its time is ncu's duration,
//     so amounts are rate x time. "traffic" is byte/s of DRAM.
//   - tables of kernel timings (collectors/smi, kernel-timing-csv): "flops" and
//     "theoretical_bytes" are what the algorithm needs, mean_ms the time. The
//     bytes are an estimate of DRAM's: caches may serve them.
type published struct{ counters }

// isPublished tells these tables by their columns.
func isPublished(metrics map[string]float64) bool {
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := metrics[n]; !ok {
				return false
			}
		}
		return true
	}
	return has("xtime", "traffic") || has("mean_ms", "flops")
}

func (c published) time() Quantity {
	q := c.first("xtime", "mean_ms")
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
		return best(product(c.first("spPerf"), c.time()), c.first("flops"))
	case FP16:
		return product(c.first("hpPerf"), c.time())
	case Int:
		return best(c.first("intops"), product(c.first("intPerf"), c.time()))
	}
	return missing("not in the table")
}

func (c published) bytes(l Level) Quantity {
	if l == DRAM {
		return best(product(c.first("traffic"), c.time()), c.first("theoretical_bytes"))
	}
	return missing("not in the table")
}

func (published) peak(Precision) Quantity  { return missing("no ceiling in the table") }
func (published) bandwidth(Level) Quantity { return missing("no ceiling in the table") }
func (published) busy() Quantity           { return missing("no column gives the use of a unit") }

func (published) uncounted() []string { return nil }

func (c published) remarks() []string {
	if c.first("theoretical_bytes").OK {
		return []string{"estimate: the table gives no counters but the algorithm's work, taken as FP32, and the bytes that it must move, taken as DRAM's; caches may serve part of them"}
	}
	return nil
}
