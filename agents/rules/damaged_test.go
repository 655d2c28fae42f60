package rules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
)

// Text with words lost, doubled and exchanged is advised on without a panic and
// without end, and what is proposed for it can be applied.
func TestDamagedTextIsAdvisedOn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ss := append(sources(t, "testdata/c/*.c"), sources(t, "testdata/opencl/*.cl")...)
	square := rules.Launch{Local: []int64{8, 8}, Square: true}
	slowest, proposals := time.Duration(0), 0
	for i := range 100 {
		s := ss[i%len(ss)]
		words := strings.SplitAfter(s.Text, " ")
		for range 1 + r.IntN(6) {
			a, b := r.IntN(len(words)), r.IntN(len(words))
			switch r.IntN(4) {
			case 0:
				words[a] = ""
			case 1:
				words[a] = words[b]
			case 2:
				words[a], words[b] = words[b], words[a]
			default:
				words[a] += strings.Repeat([]string{"(", "{", "for (", "do ", "#define f f(f)\n", "*", "x = ", "? : ", "int z0 = n; int z1 = z0 * z0;"}[r.IntN(9)], 1+r.IntN(200))
			}
		}
		s.Text = strings.Join(words, "")
		s.Editable = edit.All(s.Text)
		c := rules.Case{Sources: []edit.Source{s}, Build: [][]string{{"gcc", "-fopenmp"}}, Launches: map[string]rules.Launch{"product": square, "turn": square, "columns": square}}
		began := time.Now()
		ps := rules.Advisor{Options: rules.Options{Uncited: true, Distinct: true, Reassociate: true}}.Propose(c)
		slowest = max(slowest, time.Since(began))
		for _, p := range ps {
			proposals++
			patch := edit.Apply([]edit.Edit{p.Edit}, c.Sources, edit.Rules{AllowUncited: true})
			if o := patch.Outcomes[0].Rejected; o != nil && (o.Reason == edit.NotFound || o.Reason == edit.Malformed) {
				t.Errorf("%s of %s in text %d: %v", p.Transformation, p.Function, i, o)
			}
		}
	}
	if proposals == 0 {
		t.Error("nothing was proposed for any text")
	}
	t.Logf("%d proposals; the slowest text took %v", proposals, slowest)
}

// Each variable is twice the one before: written out, the last has 2^60 terms.
func TestValuesThatDoubleEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("void f(int n, double *restrict a) { int z0 = n;\n")
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&b, "int z%d = z%d + z%d;\n", i, i-1, i-1)
	}
	b.WriteString("for (int i = 0; i < n; i++) a[i + z60] = a[i + z60] + 1; }\n")
	s := edit.Source{Path: "f.c", Text: b.String(), Editable: edit.All(b.String())}
	advice := rules.Advisor{Options: rules.Options{Uncited: true}}.Advise(rules.Case{Sources: []edit.Source{s}, Build: [][]string{{"gcc", "-fopenmp"}}})
	if len(advice.Proposals)+len(advice.Refusals) == 0 {
		t.Error("nothing is said about the loop")
	}
}
