//go:build goexperiment.simd

package kernels

import "simd/archsimd"

const lanes = 4 // numbers in a vector of AVX2

func haveVectors() bool { return archsimd.X86.AVX2() && archsimd.X86.FMA() }

// wide makes a kernel of vectors over three arrays. n is rounded down to whole
// vectors.
func wide(name, about string, per Count, f func(a, b, c []float64)) Kernel {
	per.Stride, per.Width, per.Trips = 1, lanes, 1.0/lanes
	return Kernel{Name: name, About: about + ", in vectors of 4",
		Count: func(n int) Count { return per.each(n / lanes * lanes) },
		Prepare: func(n int) func() {
			n = n / lanes * lanes
			a, b, c := array(n), array(n), array(n)
			return func() { f(a, b, c); archsimd.ClearAVXUpperBits() }
		}}
}

func load(a []float64) archsimd.Float64x4 { return archsimd.LoadFloat64x4Slice(a) }

func vector() []Kernel {
	if !haveVectors() {
		return nil
	}
	return []Kernel{
		triadVector(),
		wide("scale_simd", "a = s b", Count{Mul: 1, Load: 1, Store: 1, Distinct: 2}, func(a, b, _ []float64) {
			s := archsimd.BroadcastFloat64x4(3)
			for len(a) >= lanes && len(b) >= lanes {
				load(b).Mul(s).StoreSlice(a)
				a, b = a[lanes:], b[lanes:]
			}
		}),
		wide("dot_simd", "sum of b c", Count{FMA: 1, Load: 2, Chain: 1.0 / lanes, Distinct: 2}, func(_, b, c []float64) {
			s := archsimd.BroadcastFloat64x4(0)
			for len(b) >= lanes && len(c) >= lanes {
				s = load(b).MulAdd(load(c), s)
				b, c = b[lanes:], c[lanes:]
			}
			sink = s.GetLo().GetElem(0) + s.GetLo().GetElem(1) + s.GetHi().GetElem(0) + s.GetHi().GetElem(1)
		}),
		wide("horner8_simd", "a = polynomial of degree 8 of b", Count{FMA: 8, Load: 1, Store: 1, Chain: 8.0 / lanes, Distinct: 2}, func(a, b, _ []float64) {
			k := archsimd.BroadcastFloat64x4(0.5)
			for len(a) >= lanes && len(b) >= lanes {
				x := load(b)
				s := k.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s = s.MulAdd(x, k)
				s.StoreSlice(a)
				a, b = a[lanes:], b[lanes:]
			}
		}),
		gemm("gemm_simd", "C += A B, four rows of B at a time, in vectors of 4", ikjVector,
			Count{FMA: 1, Load: 5.0 / 4, Store: 1.0 / 4, Trips: 1.0 / 16, Chain: 1.0 / lanes, Width: lanes}, Count{Load: 1}),
	}
}

func triadVector() Kernel {
	return wide("triad_simd", "a = b + s c", Count{FMA: 1, Load: 2, Store: 1, Distinct: 3}, func(a, b, c []float64) {
		s := archsimd.BroadcastFloat64x4(3)
		for len(a) >= lanes && len(b) >= lanes && len(c) >= lanes {
			load(c).MulAdd(s, load(b)).StoreSlice(a)
			a, b, c = a[lanes:], b[lanes:], c[lanes:]
		}
	})
}

// ikjVector takes sides that are multiples of four; what is left over is done
// by ikj's loop.
func ikjVector(n int, a, b, c []float64) {
	if n%lanes != 0 {
		ikj(n, a, b, c)
		return
	}
	for i := range n {
		out := c[i*n : i*n+n]
		for k := 0; k < n; k += lanes {
			v0, v1 := archsimd.BroadcastFloat64x4(a[i*n+k]), archsimd.BroadcastFloat64x4(a[i*n+k+1])
			v2, v3 := archsimd.BroadcastFloat64x4(a[i*n+k+2]), archsimd.BroadcastFloat64x4(a[i*n+k+3])
			r0, r1, r2, r3 := b[k*n:k*n+n], b[k*n+n:k*n+2*n], b[k*n+2*n:k*n+3*n], b[k*n+3*n:k*n+4*n]
			for o := out; len(o) >= lanes && len(r0) >= lanes && len(r1) >= lanes && len(r2) >= lanes && len(r3) >= lanes; {
				s := load(r0).MulAdd(v0, load(o))
				s = load(r1).MulAdd(v1, s)
				s = load(r2).MulAdd(v2, s)
				load(r3).MulAdd(v3, s).StoreSlice(o)
				o, r0, r1, r2, r3 = o[lanes:], r0[lanes:], r1[lanes:], r2[lanes:], r3[lanes:]
			}
		}
	}
	archsimd.ClearAVXUpperBits()
}

// triadProbe is the triad in four vectors a step, so that loads and stores are
// what it waits for.
func triadProbe() Kernel {
	if !haveVectors() {
		return triad()
	}
	k := triadVector()
	k.Name = "triad_unrolled"
	k.Count = func(n int) Count {
		n = n / (4 * lanes) * 4 * lanes
		c := Count{FMA: 1, Load: 2, Store: 1, Distinct: 3, Trips: 1.0 / (4 * lanes)}.each(n)
		c.Stride, c.Width = 1, lanes
		return c
	}
	k.Prepare = func(n int) func() {
		a, b, c := array(n), array(n), array(n)
		return func() {
			s := archsimd.BroadcastFloat64x4(3)
			for i := 0; i+4*lanes <= len(a) && i+4*lanes <= len(b) && i+4*lanes <= len(c); i += 4 * lanes {
				p, q, r := (*[4 * lanes]float64)(a[i:]), (*[4 * lanes]float64)(b[i:]), (*[4 * lanes]float64)(c[i:])
				v0 := archsimd.LoadFloat64x4((*[4]float64)(r[0:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[0:])))
				v1 := archsimd.LoadFloat64x4((*[4]float64)(r[4:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[4:])))
				v2 := archsimd.LoadFloat64x4((*[4]float64)(r[8:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[8:])))
				v3 := archsimd.LoadFloat64x4((*[4]float64)(r[12:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[12:])))
				v0.Store((*[4]float64)(p[0:]))
				v1.Store((*[4]float64)(p[4:]))
				v2.Store((*[4]float64)(p[8:]))
				v3.Store((*[4]float64)(p[12:]))
			}
			archsimd.ClearAVXUpperBits()
		}
	}
	return k
}

// chains is how many multiply-adds fmaProbe keeps in flight: latency 4 times
// two units takes 8 at least. They begin with different values: the compiler
// finds variables that are always equal and computes them once.
const chains = 12

func fmaProbe() Kernel {
	switch {
	case archsimd.X86.AVX512():
		return registers("fma_avx512", 8, chains, fma512)
	case haveVectors():
		return registers("fma_avx2", lanes, chains, fma256)
	}
	return scalarFMAProbe()
}

func fma512(n int) {
	x, y := archsimd.BroadcastFloat64x8(0.5), archsimd.BroadcastFloat64x8(1)
	a, b, c, d, e, f := y, y.Add(x), y.Add(y), x, x.Mul(x), y.Sub(x.Mul(x))
	g, h, i, j, k, l := a.Add(b), a.Add(c), b.Add(c), a.Add(d.Mul(e)), b.Add(f), c.Add(f)
	for range n {
		a, b, c, d, e, f = a.MulAdd(x, y), b.MulAdd(x, y), c.MulAdd(x, y), d.MulAdd(x, y), e.MulAdd(x, y), f.MulAdd(x, y)
		g, h, i, j, k, l = g.MulAdd(x, y), h.MulAdd(x, y), i.MulAdd(x, y), j.MulAdd(x, y), k.MulAdd(x, y), l.MulAdd(x, y)
	}
	s := a.Add(b).Add(c.Add(d)).Add(e.Add(f)).Add(g.Add(h)).Add(i.Add(j)).Add(k.Add(l))
	sink = s.GetLo().GetLo().GetElem(0)
	archsimd.ClearAVXUpperBits()
}

func fma256(n int) {
	x, y := archsimd.BroadcastFloat64x4(0.5), archsimd.BroadcastFloat64x4(1)
	a, b, c, d, e, f := y, y.Add(x), y.Add(y), x, x.Mul(x), y.Sub(x.Mul(x))
	g, h, i, j, k, l := a.Add(b), a.Add(c), b.Add(c), a.Add(d.Mul(e)), b.Add(f), c.Add(f)
	for range n {
		a, b, c, d, e, f = a.MulAdd(x, y), b.MulAdd(x, y), c.MulAdd(x, y), d.MulAdd(x, y), e.MulAdd(x, y), f.MulAdd(x, y)
		g, h, i, j, k, l = g.MulAdd(x, y), h.MulAdd(x, y), i.MulAdd(x, y), j.MulAdd(x, y), k.MulAdd(x, y), l.MulAdd(x, y)
	}
	s := a.Add(b).Add(c.Add(d)).Add(e.Add(f)).Add(g.Add(h)).Add(i.Add(j)).Add(k.Add(l))
	sink = s.GetLo().GetElem(0)
	archsimd.ClearAVXUpperBits()
}
