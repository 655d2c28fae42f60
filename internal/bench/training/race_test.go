package training

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

var tiny = Architecture{
	Name: "tiny", About: "an MLP on 8 examples", Steps: 3,
	Model: gomlx.Model{Forward: mlp, Loss: squared},
	Batch: func(rng *rand.Rand) train.Batch { return batch(8, normal(rng, 8, 4), rng) },
}

// The test binary is both sides: "ours NAME SEED FILE", and "peer SEED NAME
// FILE THREADS", which does not read the file, but has weights of that seed.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || (os.Args[1] != "ours" && os.Args[1] != "peer") {
		os.Exit(m.Run())
	}
	seed, path := os.Args[3], os.Args[4]
	if os.Args[1] == "peer" {
		seed, path = os.Args[2], os.Args[4]+".peer"
	}
	var s uint64
	_, err := fmt.Sscan(seed, &s)
	if err == nil {
		err = Serve(tiny, s, path, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func race(t *testing.T, peerSeed string) *Race {
	t.Helper()
	if len(backend.Plugins()) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	return &Race{
		Ours: []string{os.Args[0], "ours"}, Peer: []string{os.Args[0], "peer", peerSeed}, PeerName: "itself",
		Architectures: []Architecture{tiny}, Rounds: 3, Threads: 1, Seed: 7, Progress: func(string) {},
	}
}

// A program raced against itself: the same model, and as much memory.
func TestRaceComparesTimeAndMemory(t *testing.T) {
	rep, err := race(t, "7").Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) != 2 {
		t.Fatalf("%+v", rep.Results)
	}
	step, memory := rep.Results[0], rep.Results[1]
	if step.Unit != "ms" || step.OursN != 3 || step.PeerN != 3 || !(step.Ours > 0) || step.PeerName != "itself" || step.Target != 1 {
		t.Errorf("%+v", step)
	}
	if memory.Unit != "MB" || math.Abs(memory.Ratio-1) > 0.2 {
		t.Errorf("%+v", memory)
	}
}

// A side with other weights does not train the same model.
func TestRaceIsVoidWhenLossesDiffer(t *testing.T) {
	_, err := race(t, "8").Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the race is void") {
		t.Errorf("%v", err)
	}
}

// What a side says before it ends is told.
func TestRaceTellsWhyASideEnded(t *testing.T) {
	r := race(t, "no number")
	_, err := r.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "expected integer") || !strings.Contains(err.Error(), "itself ended") {
		t.Errorf("%v", err)
	}
}

// The architectures are what they are called: their numbers of parameters by
// hand.
//
//	mlp:     (64+1) 256 + (256+1) 256 + (256+1) 1 = 82,689
//	encoder: 8192*128 + 256*128 + 4 [(128+1) 384 + (128+1) 128 + (128+1) 512 + (512+1) 128 + 4*128] + 2*128 + 129 = 1,874,817
//	lstm:    (64+256+1) 1024 + (256+256+1) 1024 + 257 = 854,273
func TestArchitecturesHaveTheirParameters(t *testing.T) {
	want := map[string]int64{"mlp": 82689, "encoder": 1874817, "lstm": 854273}
	for _, a := range Architectures() {
		n, err := gomlx.New(a.Model, train.Options{Backend: "go"})
		if err != nil {
			t.Fatal(err)
		}
		b := a.Batch(rand.New(rand.NewPCG(1, 1)))
		if err := n.Prepare(b); err != nil {
			t.Fatal(err)
		}
		if got := n.About().Parameters; got != want[a.Name] {
			t.Errorf("%s has %d parameters, want %d", a.Name, got, want[a.Name])
		}
		n.Close()
	}
}
