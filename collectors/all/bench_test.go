package all_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rooflab/rooflab/collectors"
)

// kinds makes beginnings of files of several kinds, each as long as what
// formats see of a file. None is a profile.
func kinds() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(line func(i int) string) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < collectors.HeadSize; i++ {
			b.WriteString(line(i))
		}
		return b.Bytes()[:collectors.HeadSize]
	}
	random := fill(func(int) string { return string([]byte{byte(r.Uint32()), byte(r.Uint32())}) })
	return map[string][]byte{
		"csv of numbers": fill(func(i int) string { return fmt.Sprintf("%d,%.3f,%.6f,%d\n", i, r.Float64(), r.Float64(), r.IntN(1000)) }),
		"csv of texts":   fill(func(i int) string { return fmt.Sprintf("node%03d,\"a, b\",ok,%d,%s\n", i, i*i, "solver/step") }),
		"records with =": fill(func(i int) string {
			return fmt.Sprintf("__id=%d,attr=%d,data=main\\,loop,time=%f\n", i, i%7, r.Float64())
		}),
		"json on one line": append([]byte(`{"rows":[`), fill(func(i int) string { return fmt.Sprintf(`{"id":%d,"name":"step","value":%f},`, i, r.Float64()) })...)[:collectors.HeadSize],
		"json by lines":    append([]byte("[\n"), fill(func(i int) string { return fmt.Sprintf("  {\n    \"id\": %d,\n    \"x\": %f\n  },\n", i, r.Float64()) })...)[:collectors.HeadSize],
		"log": fill(func(i int) string {
			return fmt.Sprintf("Nov 29 12:%02d:%02d n%d slurmd[%d]: launched step %d\n", i%60, i%60, i%9, 1000+i, i)
		}),
		"output": fill(func(i int) string {
			return fmt.Sprintf("step %6d  dt %.3e  residual %.6e\n", i, r.Float64(), r.Float64())
		}),
		"source": fill(func(i int) string {
			return fmt.Sprintf("\tfor (int i = 0; i < n%d; i++) {\n\t\tx[i] += a * y[i];\n\t}\n", i)
		}),
		"short lines":       fill(func(i int) string { return fmt.Sprintf("%d\n", i%10) }),
		"blank lines":       fill(func(int) string { return "\n" }),
		"one line of words": fill(func(int) string { return "word " }),
		"zeros":             fill(func(int) string { return "\x00" }),
		"random bytes":      random,
		"sqlite":            append([]byte("SQLite format 3\x00"), random...)[:collectors.HeadSize],
		"xml":               append([]byte("<?xml version=\"1.0\"?>\n<rows>\n"), fill(func(i int) string { return fmt.Sprintf("  <row id=\"%d\"/>\n", i) })...)[:collectors.HeadSize],
	}
}

// BenchmarkDetect asks all formats about one beginning of a file.
func BenchmarkDetect(b *testing.B) {
	for name, head := range kinds() {
		b.Run(name, func(b *testing.B) {
			h := collectors.Head{Name: "results.txt", Bytes: head}
			b.SetBytes(int64(len(head)))
			for b.Loop() {
				_, _, _ = collectors.Detect(h)
			}
		})
	}
}

// BenchmarkFormats asks each format about all beginnings.
func BenchmarkFormats(b *testing.B) {
	var heads []collectors.Head
	for _, head := range kinds() {
		heads = append(heads, collectors.Head{Name: "results.txt", Bytes: head})
	}
	for _, f := range collectors.Formats() {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				for _, h := range heads {
					f.Detect(h)
				}
			}
		})
	}
}
