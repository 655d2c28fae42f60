package gomlx

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/llmperf/pretrained"
	"github.com/rooflab/rooflab/modeling/llmperf/pretrained/pretrainedtest"
	"github.com/rooflab/rooflab/modeling/train"
)

// hidden is what all layers of a model make of tokens, before the last norm.
func hidden(t testing.TB, path string, tokens []int32) []float32 {
	t.Helper()
	m, err := pretrained.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := &llmperf.Base{Name: m.Name, Config: m.Config, Freeze: m.Config.Layers}
	c := llmperf.Config{Vocab: m.Tokenizer().Size(), Context: len(tokens), Width: b.Width, Layers: b.Layers, Heads: b.Heads, Inner: b.Inner, Floor: 0.01, Base: b}
	n, err := newTuner(c, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	w, err := m.Weights(0)
	if err != nil {
		t.Fatal(err)
	}
	tu, ok := n.(*tuner)
	if !ok {
		t.Fatalf("the network is a %T", n)
	}
	if err := tu.Start(w); err != nil {
		t.Fatal(err)
	}
	out, err := tu.compute(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The numbers are printed by `python testdata/llama.py tiny`, which computes them
// in float64 from the definitions alone.
func TestDecoderComputesWhatNumpyDoes(t *testing.T) {
	want := [][]float64{
		{-0.1334804, -0.1797243, 1.4236300, -0.0304813, -0.5365981, 0.6467103, -0.8897967, -0.9385702},
		{-0.6599360, 0.0821592, 1.1679184, -0.1634515, 0.1501664, 0.6459940, -0.9821245, -0.5080254},
		{-1.6905962, -0.7344032, -1.9199752, -0.7699390, 1.6788952, 0.9236915, 1.3535971, 1.9637565},
		{1.3085876, 0.4579281, 1.6542216, -0.2182316, -1.8367412, -0.4648409, -1.2796558, -1.1844973},
		{1.2381065, 0.1031711, 1.1797315, -0.1999492, -1.7499439, -0.3115451, -0.7484989, -0.9462369},
	}
	m := pretrainedtest.Tiny()
	dir := t.TempDir()
	file := filepath.Join(dir, "tiny.gguf")
	m.GGUF(t, file)
	m.HuggingFace(t, dir, 1)
	for _, path := range []string{file, filepath.Join(dir, "model.safetensors")} {
		got := hidden(t, path, []int32{72, 101, 5, 265, 7})
		for i, row := range want {
			for j, v := range row {
				if g := float64(got[i*8+j]); math.Abs(g-v) > 2e-6 {
					t.Errorf("%s: token %d, value %d: %.7f, want %.7f", filepath.Base(path), i, j, g, v)
				}
			}
		}
	}
}

// BenchmarkDecoder compares the hidden states of a real model with those of
// testdata/llama.py, and says how long a token takes:
//
//	python testdata/llama.py model.gguf hidden.bin
//	ROOFLAB_PRETRAINED=model.gguf ROOFLAB_HIDDEN=hidden.bin go test -run - -bench Decoder
//
// It is no test because it needs a model of a hundred megabytes.
func BenchmarkDecoder(b *testing.B) {
	raw, err := os.ReadFile(os.Getenv("ROOFLAB_HIDDEN"))
	if err != nil {
		b.Fatalf("%v: make the file as the comment of this benchmark says", err)
	}
	n, width := int(binary.LittleEndian.Uint32(raw)), int(binary.LittleEndian.Uint32(raw[4:]))
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(binary.LittleEndian.Uint32(raw[8+4*i:]))
	}
	raw = raw[8+4*n:]
	for b.Loop() {
		got := hidden(b, os.Getenv("ROOFLAB_PRETRAINED"), tokens)
		// Relative to the length of each token's vector.
		worst := 0.0
		for i := range n {
			var away, length float64
			for j := range width {
				at := i*width + j
				v := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*at:])))
				away, length = away+math.Pow(v-float64(got[at]), 2), length+v*v
			}
			worst = max(worst, math.Sqrt(away/length))
		}
		b.ReportMetric(worst, "relative-error")
		if !(worst < 1e-3) {
			b.Fatalf("a token's hidden state is away from llama.py's by %g of its length", worst)
		}
	}
}
