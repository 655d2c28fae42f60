//go:build goexperiment.simd

package machine

import "simd/archsimd"

// kernelSets lists what this processor can run, widest first.
func kernelSets() []kernelSet {
	var sets []kernelSet
	if archsimd.X86.AVX512() {
		sets = append(sets, kernelSet{
			name: "avx512", instructions: "AVX-512 FMA", triad: triad512, step: 64,
			fma64: fma64x8, flop64: 2 * 8 * chains, fma32: fma32x16, flop32: 2 * 16 * chains})
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		sets = append(sets, kernelSet{
			name: "avx2", instructions: "AVX2 FMA", triad: triad256, step: 32,
			fma64: fma64x4, flop64: 2 * 4 * chains, fma32: fma32x8, flop32: 2 * 8 * chains})
	}
	return append(sets, scalarSet())
}

func triad512(a, b, c []float64) {
	s := archsimd.BroadcastFloat64x8(scale)
	for len(a) >= 64 && len(b) >= 64 && len(c) >= 64 {
		p, q, r := (*[64]float64)(a), (*[64]float64)(b), (*[64]float64)(c)
		v0 := archsimd.LoadFloat64x8((*[8]float64)(r[0:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[0:])))
		v1 := archsimd.LoadFloat64x8((*[8]float64)(r[8:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[8:])))
		v2 := archsimd.LoadFloat64x8((*[8]float64)(r[16:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[16:])))
		v3 := archsimd.LoadFloat64x8((*[8]float64)(r[24:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[24:])))
		v0.Store((*[8]float64)(p[0:]))
		v1.Store((*[8]float64)(p[8:]))
		v2.Store((*[8]float64)(p[16:]))
		v3.Store((*[8]float64)(p[24:]))
		v0 = archsimd.LoadFloat64x8((*[8]float64)(r[32:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[32:])))
		v1 = archsimd.LoadFloat64x8((*[8]float64)(r[40:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[40:])))
		v2 = archsimd.LoadFloat64x8((*[8]float64)(r[48:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[48:])))
		v3 = archsimd.LoadFloat64x8((*[8]float64)(r[56:])).MulAdd(s, archsimd.LoadFloat64x8((*[8]float64)(q[56:])))
		v0.Store((*[8]float64)(p[32:]))
		v1.Store((*[8]float64)(p[40:]))
		v2.Store((*[8]float64)(p[48:]))
		v3.Store((*[8]float64)(p[56:]))
		a, b, c = a[64:], b[64:], c[64:]
	}
	archsimd.ClearAVXUpperBits()
}

func triad256(a, b, c []float64) {
	s := archsimd.BroadcastFloat64x4(scale)
	for len(a) >= 32 && len(b) >= 32 && len(c) >= 32 {
		p, q, r := (*[32]float64)(a), (*[32]float64)(b), (*[32]float64)(c)
		v0 := archsimd.LoadFloat64x4((*[4]float64)(r[0:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[0:])))
		v1 := archsimd.LoadFloat64x4((*[4]float64)(r[4:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[4:])))
		v2 := archsimd.LoadFloat64x4((*[4]float64)(r[8:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[8:])))
		v3 := archsimd.LoadFloat64x4((*[4]float64)(r[12:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[12:])))
		v0.Store((*[4]float64)(p[0:]))
		v1.Store((*[4]float64)(p[4:]))
		v2.Store((*[4]float64)(p[8:]))
		v3.Store((*[4]float64)(p[12:]))
		v0 = archsimd.LoadFloat64x4((*[4]float64)(r[16:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[16:])))
		v1 = archsimd.LoadFloat64x4((*[4]float64)(r[20:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[20:])))
		v2 = archsimd.LoadFloat64x4((*[4]float64)(r[24:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[24:])))
		v3 = archsimd.LoadFloat64x4((*[4]float64)(r[28:])).MulAdd(s, archsimd.LoadFloat64x4((*[4]float64)(q[28:])))
		v0.Store((*[4]float64)(p[16:]))
		v1.Store((*[4]float64)(p[20:]))
		v2.Store((*[4]float64)(p[24:]))
		v3.Store((*[4]float64)(p[28:]))
		a, b, c = a[32:], b[32:], c[32:]
	}
	archsimd.ClearAVXUpperBits()
}

// The chains of these kernels begin with different values: the compiler finds
// out which variables are always equal, and computes those once.

func fma64x8(n int) float64 {
	x, y := archsimd.BroadcastFloat64x8(factor), archsimd.BroadcastFloat64x8(addend)
	a, b, c, d, e, f := archsimd.BroadcastFloat64x8(1), archsimd.BroadcastFloat64x8(2), archsimd.BroadcastFloat64x8(3), archsimd.BroadcastFloat64x8(4), archsimd.BroadcastFloat64x8(5), archsimd.BroadcastFloat64x8(6)
	g, h, i, j, k, l := archsimd.BroadcastFloat64x8(7), archsimd.BroadcastFloat64x8(8), archsimd.BroadcastFloat64x8(9), archsimd.BroadcastFloat64x8(10), archsimd.BroadcastFloat64x8(11), archsimd.BroadcastFloat64x8(12)
	for range n {
		a, b, c, d, e, f = a.MulAdd(x, y), b.MulAdd(x, y), c.MulAdd(x, y), d.MulAdd(x, y), e.MulAdd(x, y), f.MulAdd(x, y)
		g, h, i, j, k, l = g.MulAdd(x, y), h.MulAdd(x, y), i.MulAdd(x, y), j.MulAdd(x, y), k.MulAdd(x, y), l.MulAdd(x, y)
	}
	s := a.Add(b).Add(c.Add(d)).Add(e.Add(f)).Add(g.Add(h)).Add(i.Add(j)).Add(k.Add(l))
	r := s.GetLo().GetLo().GetElem(0)
	archsimd.ClearAVXUpperBits()
	return r
}

func fma64x4(n int) float64 {
	x, y := archsimd.BroadcastFloat64x4(factor), archsimd.BroadcastFloat64x4(addend)
	a, b, c, d, e, f := archsimd.BroadcastFloat64x4(1), archsimd.BroadcastFloat64x4(2), archsimd.BroadcastFloat64x4(3), archsimd.BroadcastFloat64x4(4), archsimd.BroadcastFloat64x4(5), archsimd.BroadcastFloat64x4(6)
	g, h, i, j, k, l := archsimd.BroadcastFloat64x4(7), archsimd.BroadcastFloat64x4(8), archsimd.BroadcastFloat64x4(9), archsimd.BroadcastFloat64x4(10), archsimd.BroadcastFloat64x4(11), archsimd.BroadcastFloat64x4(12)
	for range n {
		a, b, c, d, e, f = a.MulAdd(x, y), b.MulAdd(x, y), c.MulAdd(x, y), d.MulAdd(x, y), e.MulAdd(x, y), f.MulAdd(x, y)
		g, h, i, j, k, l = g.MulAdd(x, y), h.MulAdd(x, y), i.MulAdd(x, y), j.MulAdd(x, y), k.MulAdd(x, y), l.MulAdd(x, y)
	}
	s := a.Add(b).Add(c.Add(d)).Add(e.Add(f)).Add(g.Add(h)).Add(i.Add(j)).Add(k.Add(l))
	r := s.GetLo().GetElem(0)
	archsimd.ClearAVXUpperBits()
	return r
}

func fma32x16(n int) float64 {
	x, y := archsimd.BroadcastFloat32x16(factor), archsimd.BroadcastFloat32x16(addend)
	a, b, c, d, e, f := archsimd.BroadcastFloat32x16(1), archsimd.BroadcastFloat32x16(2), archsimd.BroadcastFloat32x16(3), archsimd.BroadcastFloat32x16(4), archsimd.BroadcastFloat32x16(5), archsimd.BroadcastFloat32x16(6)
	g, h, i, j, k, l := archsimd.BroadcastFloat32x16(7), archsimd.BroadcastFloat32x16(8), archsimd.BroadcastFloat32x16(9), archsimd.BroadcastFloat32x16(10), archsimd.BroadcastFloat32x16(11), archsimd.BroadcastFloat32x16(12)
	for range n {
		a, b, c, d, e, f = a.MulAdd(x, y), b.MulAdd(x, y), c.MulAdd(x, y), d.MulAdd(x, y), e.MulAdd(x, y), f.MulAdd(x, y)
		g, h, i, j, k, l = g.MulAdd(x, y), h.MulAdd(x, y), i.MulAdd(x, y), j.MulAdd(x, y), k.MulAdd(x, y), l.MulAdd(x, y)
	}
	s := a.Add(b).Add(c.Add(d)).Add(e.Add(f)).Add(g.Add(h)).Add(i.Add(j)).Add(k.Add(l))
	r := float64(s.GetLo().GetLo().GetElem(0))
	archsimd.ClearAVXUpperBits()
	return r
}

func fma32x8(n int) float64 {
	x, y := archsimd.BroadcastFloat32x8(factor), archsimd.BroadcastFloat32x8(addend)
	a, b, c, d, e, f := archsimd.BroadcastFloat32x8(1), archsimd.BroadcastFloat32x8(2), archsimd.BroadcastFloat32x8(3), archsimd.BroadcastFloat32x8(4), archsimd.BroadcastFloat32x8(5), archsimd.BroadcastFloat32x8(6)
	g, h, i, j, k, l := archsimd.BroadcastFloat32x8(7), archsimd.BroadcastFloat32x8(8), archsimd.BroadcastFloat32x8(9), archsimd.BroadcastFloat32x8(10), archsimd.BroadcastFloat32x8(11), archsimd.BroadcastFloat32x8(12)
	for range n {
		a, b, c, d, e, f = a.MulAdd(x, y), b.MulAdd(x, y), c.MulAdd(x, y), d.MulAdd(x, y), e.MulAdd(x, y), f.MulAdd(x, y)
		g, h, i, j, k, l = g.MulAdd(x, y), h.MulAdd(x, y), i.MulAdd(x, y), j.MulAdd(x, y), k.MulAdd(x, y), l.MulAdd(x, y)
	}
	s := a.Add(b).Add(c.Add(d)).Add(e.Add(f)).Add(g.Add(h)).Add(i.Add(j)).Add(k.Add(l))
	r := float64(s.GetLo().GetElem(0))
	archsimd.ClearAVXUpperBits()
	return r
}
