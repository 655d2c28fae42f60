package chrometrace

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// trace writes a trace of n operators with a kernel each, out of order.
func trace(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	events := make([]string, 0, 5*n)
	for i := range n {
		t := 1695835542514261 + int64(i)*50
		events = append(events,
			fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":7,"tid":7,"ts":%d.%03d,"dur":40,"args":{"External id":%d,"Input Dims":[[32,128],[128,64]]}}`, rng.IntN(50), t, i%1000, i),
			fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":%d,"dur":8,"args":{"correlation":%d}}`, t+5, i),
			fmt.Sprintf(`{"ph":"s","id":%d,"pid":7,"tid":7,"ts":%d,"cat":"ac2g","name":"ac2g"}`, i, t+5),
			fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"void k%d<float>(float*)","pid":0,"tid":7,"ts":%d,"dur":20,"args":{"device":0,"stream":7,"correlation":%d,"registers per thread":32,"grid":[270,1,1],"block":[256,1,1],"est. achieved occupancy %%":31}}`, rng.IntN(20), t+15, i),
			fmt.Sprintf(`{"ph":"B","name":"span","pid":7,"tid":8,"ts":%d}`, t), fmt.Sprintf(`{"ph":"E","name":"span","pid":7,"tid":8,"ts":%d,"args":{"x":%d}}`, t+30, i))
	}
	rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	return `{"schemaVersion":1,"traceEvents":[` + strings.Join(events, ",\n") + `],"distributedInfo":{"rank":4}}`
}

func records(t *testing.T, content string, memory int) *parsertest.Records {
	t.Helper()
	in, err := collectors.Open("t.json", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	r := &parsertest.Records{}
	out := collectors.NewOutput("t.json", r)
	if err := parseWith(context.Background(), in, out, memory); err != nil {
		t.Fatal(err)
	}
	r.Warnings = out.Warnings
	return r
}

// What does not fit the memory goes through a file in pieces: nobody can tell.
func TestSortingInPiecesChangesNothing(t *testing.T) {
	content := trace(500)
	whole := records(t, content, 1<<30)
	if len(whole.Launches) != 2000 || len(whole.Warnings) != 0 {
		t.Fatalf("%d launches, warnings %v", len(whole.Launches), whole.Warnings)
	}
	for _, memory := range []int{4000, 20000} {
		if pieces := records(t, content, memory); !reflect.DeepEqual(pieces, whole) {
			t.Errorf("with %d bytes of memory the records differ", memory)
		}
	}
}

type drop struct{}

func (drop) Put(datasets.Record) error { return nil }

func BenchmarkTrace(b *testing.B) {
	content := trace(20000)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		in, err := collectors.Open("t.json", io.Reader(strings.NewReader(content)))
		if err != nil {
			b.Fatal(err)
		}
		if err := parseWith(context.Background(), in, collectors.NewOutput("t.json", drop{}), sortMemory); err != nil {
			b.Fatal(err)
		}
	}
}
