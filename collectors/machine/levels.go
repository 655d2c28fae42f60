package machine

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/collectors/host"
)

// level is a place that a triad's arrays come from.
type level struct {
	name   string
	thread int64 // bytes of the three arrays in each of several threads
	single int64 // bytes of them where one thread runs alone
	doubt  string
}

// levels chooses how large arrays must be to come from each cache and from
// memory. A cache's arrays fill half of the first one; in a further one they
// lie, geometrically, half-way between it and the one before, since both a
// cache that is nearly full and one that a neighbour shares leak. free is how
// much memory may be used.
func levels(caches []host.Cache, threads int, free int64) (found []level, skipped []string) {
	var before, last int64 // what a thread has of the cache before, and all of the last one
	var lastOne int64
	for _, c := range caches {
		if c.Type == "Instruction" {
			continue
		}
		sharing := min(max(c.Threads, 1), threads)
		share := c.Bytes / int64(sharing)
		name := fmt.Sprintf("l%d", c.Level)
		last, lastOne = c.Bytes*int64(max(c.Instances, 1)), c.Bytes
		switch {
		case before == 0:
			found = append(found, level{name: name, thread: share / 2, single: share / 2})
		case share < 3*before:
			skipped = append(skipped, fmt.Sprintf("%s: a thread's share of it, %d bytes, is hardly more than the %d bytes of the level before: what comes from where cannot be told", name, share, before))
			continue
		default:
			size := int64(math.Sqrt(float64(before) * float64(share)))
			found = append(found, level{name: name, thread: size, single: size})
		}
		before = share
	}
	// STREAM's rule: four times the last cache. Where there is no cache known,
	// 256 MiB are more than most.
	least := int64(256 << 20)
	d := level{name: "dram", thread: max(4*last, least) / int64(threads), single: max(4*lastOne, least)}
	if limit := free / 2; d.thread*int64(threads) > limit || d.single > limit {
		d.thread, d.single = min(d.thread, limit/int64(threads)), min(d.single, limit)
		if d.thread*int64(threads) < 2*last || d.single < 2*lastOne {
			d.doubt = fmt.Sprintf("memory was short: arrays of %d bytes, where the last cache has %d", d.single, last)
		}
	}
	return append(found, d), skipped
}
