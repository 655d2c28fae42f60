package machine

import (
	"math"
	"runtime"
)

// kernelSet is what the probes run, in one kind of instructions.
type kernelSet struct {
	name         string
	instructions string                  // for people: "AVX2 FMA"
	triad        func(a, b, c []float64) // a = b + scale c, over whole steps
	step         int                     // numbers that one round of triad takes
	fma64, fma32 func(n int) float64     // n rounds of multiply-adds in registers
	flop64       float64                 // operations of one round
	flop32       float64
}

const (
	scale = 3.0
	// The values of the multiply-adds move towards addend / (1 - factor), so
	// that they stay normal numbers for ever.
	factor, addend = 0.5, 1.0
	// chains is how many multiply-adds wait for nothing but themselves: a
	// latency of 4 times two units takes 8 at least, a latency of 5 takes 10.
	chains = 12
)

// scalarSet is what the Go compiler makes of plain loops: one number an
// instruction, and on x86 a multiplication and an addition.
func scalarSet() kernelSet {
	set := kernelSet{name: "scalar", instructions: "scalar multiply and add", triad: triad, step: 4,
		fma64: mulAdd64, flop64: 2 * 8, fma32: mulAdd32, flop32: 2 * 8}
	if runtime.GOARCH == "arm64" || runtime.GOARCH == "ppc64le" || runtime.GOARCH == "s390x" || runtime.GOARCH == "riscv64" {
		set.instructions = "scalar FMA" // the compiler fuses them
	}
	return set
}

func triad(a, b, c []float64) {
	for len(a) >= 4 && len(b) >= 4 && len(c) >= 4 {
		p, q, r := (*[4]float64)(a), (*[4]float64)(b), (*[4]float64)(c)
		p[0] = q[0] + scale*r[0]
		p[1] = q[1] + scale*r[1]
		p[2] = q[2] + scale*r[2]
		p[3] = q[3] + scale*r[3]
		a, b, c = a[4:], b[4:], c[4:]
	}
}

func mulAdd64(n int) float64 {
	a, b, c, d, e, f, g, h := 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
	for range n {
		a, b, c, d = a*factor+addend, b*factor+addend, c*factor+addend, d*factor+addend
		e, f, g, h = e*factor+addend, f*factor+addend, g*factor+addend, h*factor+addend
	}
	return a + b + c + d + e + f + g + h
}

func mulAdd32(n int) float64 {
	var a, b, c, d, e, f, g, h float32 = 1, 2, 3, 4, 5, 6, 7, 8
	for range n {
		a, b, c, d = a*factor+addend, b*factor+addend, c*factor+addend, d*factor+addend
		e, f, g, h = e*factor+addend, f*factor+addend, g*factor+addend, h*factor+addend
	}
	return float64(a + b + c + d + e + f + g + h)
}

// chain is n rounds of eight integer operations, each of which waits for the
// one before and takes a cycle on every processor of today.
func chain(n int) float64 {
	x, k := uint64(n), uint64(n)|1
	for range n {
		x += k
		x ^= k
		x += k
		x ^= k
		x += k
		x ^= k
		x += k
		x ^= k
	}
	return math.Float64frombits(x & math.MaxInt32)
}

const chainCycles = 8
