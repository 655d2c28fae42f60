package tokenize_test

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Real kernels, read from where they are.
const (
	cudaFile   = "../../../shared/data/gpuflopbench/extracted_CUDA_kernels.json"
	openclFile = "../../../shared/data/deeptune-devmap/cgo17-nvidia.csv"
)

var cudaOnce = sync.OnceValues(func() ([]string, error) {
	data, err := os.ReadFile(cudaFile)
	if err != nil {
		return nil, err
	}
	var programs map[string]map[string][]string
	if err := json.Unmarshal(data, &programs); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, p := range slices.Sorted(maps.Keys(programs)) {
		for _, f := range slices.Sorted(maps.Keys(programs[p])) {
			for _, k := range programs[p][f] {
				if !seen[k] {
					seen[k] = true
					out = append(out, k)
				}
			}
		}
	}
	return out, nil
})

var openclOnce = sync.OnceValues(func() ([]string, error) {
	f, err := os.Open(openclFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	at := slices.Index(rows[0], "src")
	seen := map[string]bool{}
	var out []string
	for _, r := range rows[1:] {
		if !seen[r[at]] {
			seen[r[at]] = true
			out = append(out, r[at])
		}
	}
	return out, nil
})

// cuda are the distinct CUDA kernels of HeCBench in gpuFLOPBench.
func cuda(t testing.TB) []string {
	t.Helper()
	k, err := cudaOnce()
	if err != nil || len(k) < 300 {
		t.Fatalf("%d CUDA kernels, %v: the folder shared/ must lie beside the repository", len(k), err)
	}
	return k
}

// opencl are the distinct OpenCL kernels of DeepTune.
func opencl(t testing.TB) []string {
	t.Helper()
	k, err := openclOnce()
	if err != nil || len(k) < 200 {
		t.Fatalf("%d OpenCL kernels, %v: the folder shared/ must lie beside the repository", len(k), err)
	}
	return k
}

// full is all that can be normalised.
var full = tokenize.Normalization{Space: tokenize.MinimalSpace, Rename: true, Numbers: tokenize.Scientific}

func trained(t testing.TB, o tokenize.Options, texts []string) *tokenize.Tokenizer {
	t.Helper()
	k, err := tokenize.Train(t.Context(), tokenize.Texts(texts...), o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
