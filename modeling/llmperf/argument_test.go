package llmperf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf"
)

func TestArgumentsAreReadAsCollectorOpenCLWritesThem(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"n=int:0x10", "n scalar int [16] 0 0  [] "},
		{"float4:1,2,3,4.5", " scalar float4 [1 2 3 4.5] 0 0  [] "},
		{"x=buf:double3:10:random(5,-1,2):r", "x buffer double3 [] 10 320 random [-1 2] r"}, // a double3 takes 32 bytes
		{"e=buf:int:64:iota(0,16)", "e buffer int [] 64 256 iota [0 16] rw"},
		{"z=buf:uchar:7:w", "z buffer uchar [] 7 7 zero [] w"},
		{"tile=local:1024", "tile local  [] 0 1024  [] "},
		{"raw:0a00ff", " raw  [] 0 3  [] "},
	} {
		a, err := llmperf.ParseArgument(c.spec)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := fmt.Sprint(a.Name, " ", a.Kind, " ", a.Type, " ", a.Values, " ", a.Elements, " ", a.Bytes, " ", a.Init, " ", a.Range, " ", a.Access); got != c.want {
			t.Errorf("%s: %s, want %s", c.spec, got, c.want)
		}
		if a.String() != c.spec {
			t.Errorf("%s is written %s", c.spec, a)
		}
	}
	made := llmperf.Argument{Name: "x", Kind: llmperf.Buffer, Type: "float", Elements: 8, Init: "random", Range: []float64{0, 4}, Access: "r"}
	if got := made.String(); got != "x=buf:float:8:random(0,0,4):r" {
		t.Errorf("made in a program: %s", got)
	}
	for _, spec := range []string{"", "n", "n=int:", "n=int:seven", "x=buf:float", "x=buf:float5:3", "x=buf:float:-1", "x=buf:double16:999999999999999999", "x=buf:int:3:often", "x=local:-4"} {
		if _, err := llmperf.ParseArgument(spec); err == nil || !strings.Contains(err.Error(), "reading the argument") {
			t.Errorf("%q: error %v", spec, err)
		}
	}
}
