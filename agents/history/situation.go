package history

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/insight"
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Situation is what an attempt was made in, as far as others may be like it:
// names of programs, functions and variables are not in it.
type Situation struct {
	Language string         `json:"language"`
	Evidence []Fact         `json:"evidence"`
	Code     map[string]int `json:"code"` // how often short runs of tokens are in the hot code
}

// Fact is an item of evidence without its numbers.
type Fact struct {
	Rule    string  `json:"rule"`
	Verdict string  `json:"verdict"`
	Metric  string  `json:"metric,omitempty"`
	Weight  float64 `json:"weight"` // its importance, 0 to 1
}

const (
	maxFacts = 48
	maxRuns  = 96 // of tokens
)

// Of is the situation of hot code in a language with the evidence on it.
func Of(language string, evidence []insight.Item, code []string) Situation {
	s := Situation{Language: language, Evidence: []Fact{}, Code: map[string]int{}}
	for _, i := range evidence {
		w := i.Importance
		if math.IsNaN(w) || w < 0.01 {
			w = 0.01
		}
		f := Fact{i.Rule, string(i.Verdict), i.Metric, min(w, 1)}
		if at := slices.IndexFunc(s.Evidence, func(g Fact) bool { return g.Rule == f.Rule && g.Verdict == f.Verdict && g.Metric == f.Metric }); at >= 0 {
			s.Evidence[at].Weight = max(s.Evidence[at].Weight, f.Weight)
			continue
		}
		s.Evidence = append(s.Evidence, f)
	}
	slices.SortStableFunc(s.Evidence, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Metric, b.Metric))
	})
	s.Evidence = s.Evidence[:min(len(s.Evidence), maxFacts)]
	for _, text := range code {
		count(s.Code, text)
	}
	keep := names(s.Code)
	slices.SortStableFunc(keep, func(a, b string) int { return cmp.Or(cmp.Compare(s.Code[b], s.Code[a]), cmp.Compare(a, b)) })
	for _, k := range keep[min(len(keep), maxRuns):] {
		delete(s.Code, k)
	}
	return s
}

// kept are words whose spelling says what code does; other words are "v".
var kept = words("for while do if else return switch case break continue goto float double half int uint long short char unsigned signed void bool size_t " +
	"restrict const static inline sqrt sqrtf exp expf log logf pow powf sin cos fabs fma fmin fmax rsqrt abs memcpy memset " +
	"__kernel kernel __global global __local local __constant __private barrier get_global_id get_local_id get_group_id get_local_size get_global_size " +
	"atomic_add atomic_inc __syncthreads threadIdx blockIdx blockDim __shared__ atomicAdd float2 float4 double2 double4 omp parallel simd reduction unroll pragma")

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// count counts the runs of three tokens of a text, with names and numbers taken
// as alike.
func count(into map[string]int, text string) {
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return // the language is known
	}
	var last [2]string
	for _, p := range pieces {
		t := text[p.Start:p.End]
		switch p.Kind {
		case tokenize.Space, tokenize.Newline, tokenize.Comment, tokenize.Other:
			continue
		case tokenize.Word:
			if !kept[t] {
				t = "v"
			}
		case tokenize.Number:
			t = "1"
		case tokenize.String:
			t = `""`
		case tokenize.Operator, tokenize.Directive:
		}
		if last[0] != "" {
			into[last[0]+" "+last[1]+" "+t]++
		}
		last[0], last[1] = last[1], t
	}
}

// Similarity is how alike two situations are, 0 to 1: six tenths of the cosine
// between their evidence (by rule and verdict, and by metric, weighed by
// importance) and four tenths of that between their code (by runs of three tokens),
// times 0.6 where the languages differ. The shares are a choice, not fitted.
func Similarity(a, b Situation) float64 {
	s := 0.6*cosine(a.vector(), b.vector()) + 0.4*cosine(counts(a.Code), counts(b.Code))
	if a.Language != b.Language {
		s *= 0.6
	}
	return s
}

// vector is the evidence by names.
func (s Situation) vector() map[string]float64 {
	out := map[string]float64{}
	for _, f := range s.Evidence {
		out["rule "+f.Rule+" "+f.Verdict] += f.Weight
		if f.Metric != "" {
			out["metric "+f.Metric+" "+f.Verdict] += f.Weight / 2
		}
	}
	return out
}

// counts are logarithms of counts: what is there often is no more alike for it.
func counts(code map[string]int) map[string]float64 {
	out := map[string]float64{}
	for k, n := range code {
		out[k] = math.Log1p(float64(max(n, 0)))
	}
	return out
}

// cosine adds in the order of the names, so that it is the same each time.
func cosine(a, b map[string]float64) float64 {
	var ab, aa, bb float64
	for _, k := range names(a) {
		ab += a[k] * b[k]
		aa += a[k] * a[k]
	}
	for _, k := range names(b) {
		bb += b[k] * b[k]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return min(1, ab/math.Sqrt(aa*bb))
}

func names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// finite says that numbers are such, and not below 0.
func finite(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || v < 0 })
}

// sound says that an attempt that was read makes sense: its numbers go into means.
func (a *Attempt) sound() bool {
	for _, f := range a.Situation.Evidence {
		if !finite(f.Weight) || f.Weight > 1 {
			return false
		}
	}
	for _, v := range []*float64{a.Speedup, a.Low, a.High, a.Energy} {
		if v != nil && !finite(*v) {
			return false
		}
	}
	for _, v := range a.Features {
		if !finite(math.Abs(v)) {
			return false
		}
	}
	if p := a.Predicted; p != nil && (!finite(p.Speedup, p.Level) || p.Speedup == 0 || p.Low != nil && !finite(*p.Low) || p.High != nil && !finite(*p.High)) {
		return false
	}
	return a.Run != "" && a.Target != "" && a.Backend != ""
}

func (e *End) sound() bool {
	return e.Run != "" && finite(e.Speedup, e.Seconds, e.Money) && e.Speedup > 0 && e.Calls >= 0 && e.Tokens >= 0
}
