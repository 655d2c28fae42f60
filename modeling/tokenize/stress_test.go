package tokenize_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// fragments that are put together at random: what a mutation of bytes rarely
// finds.
var fragments = strings.Split("int|float|v0|f0|g1|x|a|N|(|)|{|}|[|]|;|,|*|&|&&|<|>|>>|>>>|<<<|::|:|.|...|->|=|==|+|-|/|#|##|\\|\"|'|L|R|R\"(|)\"|"+
	"for|if|else|while|do|struct|class|enum|typedef|template|typename|const|__global__|__kernel|kernel|local|auto|return|case|operator|"+
	"define|include|//|/*|*/| | |  |\t|\n|\n|\r\n|\\\n|0|1|1.|.5|1e5|0x1F|0x|0b1|017|1'000|1e|0f3F800000|0x3FF0000000000000|3.14159265358979f|"+
	"%r1|%r|%p<2>|@f|@llvm.x|%v0|%\"q\"|!0|type|declare|define|.reg|.entry|.func|.param|.shared|.b32|.|L0|;;|// c\n|; c\n|e|p|_|é|\xff|\x00|`|$|@|!", "|")

func stress(t *testing.T, n int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range tokenize.Languages() {
		all := tokenizers(t, l)
		for range n {
			var b strings.Builder
			for range rng.IntN(24) {
				b.WriteString(fragments[rng.IntN(len(fragments))])
				if rng.IntN(3) == 0 {
					b.WriteByte(' ')
				}
			}
			for norm, k := range all {
				checkText(t, l, norm, k, b.String())
			}
		}
	}
}

// Texts of fragments at random; ROOFLAB_TOKENIZE_STRESS sets how many.
func TestFragmentsRoundTrip(t *testing.T) {
	n := 300
	if s := os.Getenv("ROOFLAB_TOKENIZE_STRESS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(fmt.Errorf("ROOFLAB_TOKENIZE_STRESS: %w", err))
		}
	}
	stress(t, n)
}
