package tokenize_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// TestWritePeerInput writes what testdata/peer.py compares with Hugging Face
// tokenizers: the texts, a tokenizer trained on them, and its ids. It does so
// where ROOFLAB_TOKENIZE_OUT names a folder, and otherwise into one of its own.
func TestWritePeerInput(t *testing.T) {
	dir := os.Getenv("ROOFLAB_TOKENIZE_OUT")
	if dir == "" {
		dir = t.TempDir()
	}
	texts := append(cuda(t), opencl(t)...)
	// Text that is no ASCII, and what look-ahead decides about.
	texts = append(texts, "Größe  der\u00a0Schleife:\t３２ Kerne’s, it's\n\n  they'll x²  \n", "日本語のコメント １２３ 4５\r\n \u2003\u3000a", " \n\t ", "''s 's'd'LL")
	k := trained(t, tokenize.Options{Language: tokenize.Text, Vocab: 4096}, texts)
	ids := make([][]int32, len(texts))
	for i, s := range texts {
		ids[i] = k.AppendIDs(nil, s)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, v any) {
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("texts.json", texts)
	write("ids.json", ids)
	f, err := os.Create(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := k.WriteHuggingFace(f); err != nil {
		t.Fatal(err)
	}
	again, err := tokenize.Load(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range texts {
		if !equal(again.AppendIDs(nil, s), ids[i]) {
			t.Fatalf("other ids after tokenizer.json was written and read: %q", s)
		}
	}
}

// cpu is the processor's time of this process so far, in seconds, that of the
// garbage collector included.
func cpu(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkEncode encodes all kernels of both corpora, in the settings that
// testdata/peer.py gives Hugging Face tokenizers (text) and those of a model
// of performance (c, c-full).
func BenchmarkEncode(b *testing.B) {
	texts := append(cuda(b), opencl(b)...)
	var size int64
	for _, s := range texts {
		size += int64(len(s))
	}
	for _, bench := range []struct {
		name string
		l    tokenize.Language
		n    tokenize.Normalization
	}{{"text", tokenize.Text, tokenize.Normalization{}}, {"c", tokenize.C, tokenize.Normalization{}}, {"c-full", tokenize.C, full}} {
		k := trained(b, tokenize.Options{Language: bench.l, Normalization: bench.n, Vocab: 4096}, texts)
		b.Run(bench.name, func(b *testing.B) {
			before := cpu(b)
			b.SetBytes(size)
			for b.Loop() {
				for _, s := range texts {
					k.Encode(s)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/(cpu(b)-before)/1e6, "cpu-MB/s")
		})
		b.Run(bench.name+"-ids", func(b *testing.B) {
			before := cpu(b)
			b.SetBytes(size)
			var ids []int32
			for b.Loop() {
				for _, s := range texts {
					ids = k.AppendIDs(ids[:0], s)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/(cpu(b)-before)/1e6, "cpu-MB/s")
		})
	}
}

func BenchmarkTrain(b *testing.B) {
	texts := append(cuda(b), opencl(b)...)
	for b.Loop() {
		trained(b, tokenize.Options{Vocab: 8192, Normalization: full}, texts)
	}
}
