package calltree_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/calltree"
)

// profile is what `perf script` prints: five samples of 1 ms.
const profile = `solve 7 1.000001: 1000000 cpu-clock:
	10 dot (/opt/solve)
	20 main (/opt/solve)

solve 7 1.001001: 1000000 cpu-clock:
	10 dot (/opt/solve)
	20 main (/opt/solve)

solve 7 1.002001: 1000000 cpu-clock:
	10 dot (/opt/solve)
	20 main (/opt/solve)

solve 7 1.003001: 1000000 cpu-clock:
	30 write (/lib/libc.so.6)
	20 main (/opt/solve)

solve 7 1.004001: 1000000 cpu-clock:
	20 main (/opt/solve)

`

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "perf.txt")
	if err := os.WriteFile(file, []byte(profile), 0o600); err != nil {
		log.Fatal(err)
	}
	s, err := datasets.Open(filepath.Join(dir, "store.duckdb"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	sum, err := collectors.ImportFile(ctx, s, file, collectors.Options{})
	if err != nil {
		log.Fatal(err)
	}

	t, err := calltree.FromStore(ctx, s, sum.Run(), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t)
	fmt.Println(t.HotPath(0.5).Names())
	for _, f := range t.Findings(1) {
		fmt.Println(f.ID, f.Text, f.Rows[0])
	}
	picture := calltree.Flame(t) // as a cell's last expression it is shown
	fmt.Println(len(picture.Frames), "frames")
	// Output:
	// cpu-clock of run 1: 5 ms in 3 nodes (sum over ranks, threads and visits)
	// inclusive          exclusive
	//      5 ms  100.0 %      1 ms  ██▊       main
	//      3 ms   60.0 %      3 ms  ████████  ├─ dot
	//      1 ms   20.0 %      1 ms  ██▊       └─ write
	// [main dot]
	// calltree.hot-path The hot path of cpu-clock, main > dot, holds 3 ms, 60.0 % of all; 100.0 % of that is in dot itself. run 1 region 2 cpu-clock
	// calltree.top-exclusive.1 dot itself takes 3 ms of cpu-clock, 60.0 % of all, at 1 place of the call tree; with what it calls 3 ms (60.0 %). run 1 region 2 cpu-clock
	// 3 frames
}
