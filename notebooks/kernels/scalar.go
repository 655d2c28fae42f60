package kernels

import (
	"fmt"
	"math"
)

// sink keeps results alive, so that the compiler cannot drop the work.
var sink float64

// array is n numbers between 0.5 and 1.5, the same each time.
func array(n int) []float64 {
	a := make([]float64, n)
	x := uint64(88172645463325252)
	for i := range a {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		a[i] = 0.5 + float64(x>>11)/(1<<53)
	}
	return a
}

// elementwise makes a kernel over three arrays a, b and c of n numbers.
func elementwise(name, about string, per Count, f func(a, b, c []float64)) Kernel {
	per.Trips = 1
	if per.Stride == 0 {
		per.Stride = 1
	}
	per.Width = 1
	return Kernel{Name: name, About: about, Count: per.each, Prepare: func(n int) func() {
		a, b, c := array(n), array(n), array(n)
		return func() { f(a, b, c) }
	}}
}

func scalar() []Kernel {
	ks := []Kernel{
		scale(),
		add(),
		triad(),
		elementwise("daxpy", "a += s b", Count{Add: 1, Mul: 1, Load: 2, Store: 1, Distinct: 2}, func(a, b, _ []float64) {
			b = b[:len(a)]
			for i := range a {
				a[i] += 1e-9 * b[i]
			}
		}),
		elementwise("divide", "a = b / c", Count{Div: 1, Load: 2, Store: 1, Distinct: 3}, func(a, b, c []float64) {
			b, c = b[:len(a)], c[:len(a)]
			for i := range a {
				a[i] = b[i] / c[i]
			}
		}),
		elementwise("norm", "sum of b / (c + 1)", Count{Add: 2, Div: 1, Load: 2, Chain: 1, Distinct: 2}, func(_, b, c []float64) {
			c = c[:len(b)]
			s := 0.0
			for i := range b {
				s += b[i] / (c[i] + 1)
			}
			sink = s
		}),
		elementwise("sum", "sum of b", Count{Add: 1, Load: 1, Chain: 1, Distinct: 1}, func(_, b, _ []float64) {
			s := 0.0
			for _, v := range b {
				s += v
			}
			sink = s
		}),
		elementwise("dot", "sum of b c", Count{Add: 1, Mul: 1, Load: 2, Chain: 1, Distinct: 2}, func(_, b, c []float64) {
			c = c[:len(b)]
			s := 0.0
			for i := range b {
				s += b[i] * c[i]
			}
			sink = s
		}),
		elementwise("distance", "sum of (b - c)^2", Count{Add: 2, Mul: 1, Load: 2, Chain: 1, Distinct: 2}, func(_, b, c []float64) {
			c = c[:len(b)]
			s := 0.0
			for i := range b {
				d := b[i] - c[i]
				s += d * d
			}
			sink = s
		}),
		elementwise("scan", "a[i] = 0.5 a[i-1] + b[i], a chain", Count{Add: 1, Mul: 1, Load: 1, Store: 1, Chain: 2, Distinct: 2}, func(a, b, _ []float64) {
			b = b[:len(a)]
			s := 0.0
			for i := range a {
				s = 0.5*s + b[i]
				a[i] = s
			}
		}),
		elementwise("stencil3", "a[i] = weighted b[i-1 .. i+1]", Count{Add: 2, Mul: 2, Load: 3, Store: 1, Distinct: 2}, func(a, b, _ []float64) {
			b = b[:len(a)]
			for i := 1; i < len(a)-1; i++ {
				a[i] = 0.5*b[i] + 0.25*(b[i-1]+b[i+1])
			}
		}),
		elementwise("stencil5", "a[i] = weighted b[i-2 .. i+2]", Count{Add: 4, Mul: 3, Load: 5, Store: 1, Distinct: 2}, func(a, b, _ []float64) {
			b = b[:len(a)]
			for i := 2; i < len(a)-2; i++ {
				a[i] = 0.4*b[i] + 0.2*(b[i-1]+b[i+1]) + 0.1*(b[i-2]+b[i+2])
			}
		}),
		unrolled("dot4", "sum of b c in 4 partial sums", 4), unrolled("dot2", "sum of b c in 2 partial sums", 2),
		gather(), gemm("gemm_ijk", "C = A B, a dot product per element", ijk, Count{Add: 1, Mul: 1, Load: 2, Chain: 1, Trips: 1}, Count{Store: 1}),
		gemm("gemm_ikj", "C += A B, a row of C at a time", ikj, Count{Add: 1, Mul: 1, Load: 2, Store: 1, Trips: 1}, Count{Load: 1}), gemv(),
	}
	for _, degree := range []int{4, 8, 16} {
		ks = append(ks, horner(degree))
	}
	for _, taps := range []int{4, 16} {
		ks = append(ks, fir(taps))
	}
	for _, stride := range []int{2, 8, 32} {
		ks = append(ks, strided(stride))
	}
	return ks
}

func scale() Kernel {
	return elementwise("scale", "a = s b", Count{Mul: 1, Load: 1, Store: 1, Distinct: 2}, func(a, b, _ []float64) {
		for i := range a {
			a[i] = 3 * b[i]
		}
	})
}

func add() Kernel {
	return elementwise("add", "a = b + c", Count{Add: 1, Load: 2, Store: 1, Distinct: 3}, func(a, b, c []float64) {
		b, c = b[:len(a)], c[:len(a)]
		for i := range a {
			a[i] = b[i] + c[i]
		}
	})
}

func triad() Kernel {
	return elementwise("triad", "a = b + s c", Count{Add: 1, Mul: 1, Load: 2, Store: 1, Distinct: 3}, func(a, b, c []float64) {
		b, c = b[:len(a)], c[:len(a)]
		for i := range a {
			a[i] = b[i] + 3*c[i]
		}
	})
}

func unrolled(name, about string, ways int) Kernel {
	per := Count{Add: 1, Mul: 1, Load: 2, Chain: 1 / float64(ways), Distinct: 2}
	k := elementwise(name, about, per, func(_, b, c []float64) {
		c = c[:len(b)]
		var s0, s1, s2, s3 float64
		i := 0
		if ways == 2 {
			for ; i+1 < len(b); i += 2 {
				s0 += b[i] * c[i]
				s1 += b[i+1] * c[i+1]
			}
		} else {
			for ; i+3 < len(b); i += 4 {
				s0 += b[i] * c[i]
				s1 += b[i+1] * c[i+1]
				s2 += b[i+2] * c[i+2]
				s3 += b[i+3] * c[i+3]
			}
		}
		for ; i < len(b); i++ {
			s0 += b[i] * c[i]
		}
		sink = s0 + s1 + s2 + s3
	})
	k.Count = func(n int) Count {
		c := per.each(n)
		c.Trips, c.Stride, c.Width = math.Ceil(float64(n)/float64(ways)), 1, 1
		return c
	}
	return k
}

func horner(degree int) Kernel {
	d := float64(degree)
	per := Count{Add: d, Mul: d, Load: 1 + d, Store: 1, Trips: d, Chain: 2 * d, Distinct: 2, Stride: 1, Width: 1}
	return Kernel{Name: fmt.Sprint("horner", degree), About: fmt.Sprintf("a = polynomial of degree %d of b", degree), Count: per.each, Prepare: func(n int) func() {
		a, b, coef := array(n), array(n), array(degree+1)
		return func() {
			for i, x := range b {
				s := coef[0]
				for _, c := range coef[1:] {
					s = s*x + c
				}
				a[i] = s
			}
		}
	}}
}

func fir(taps int) Kernel {
	t := float64(taps)
	per := Count{Add: t, Mul: t, Load: 2 * t, Store: 1, Trips: t, Chain: t, Distinct: 2, Stride: 1, Width: 1}
	return Kernel{Name: fmt.Sprint("fir", taps), About: fmt.Sprintf("a = filter of %d taps over b", taps), Count: per.each, Prepare: func(n int) func() {
		a, b, h := array(n), array(n+taps), array(taps)
		return func() {
			for i := range a {
				s := 0.0
				for j, w := range h {
					s += w * b[i+j]
				}
				a[i] = s
			}
		}
	}}
}

func strided(stride int) Kernel {
	const line = 8 // numbers in a cache line: memory gives no less
	per := Count{Add: 1, Load: 1, Chain: 1, Trips: 1, Distinct: float64(min(stride, line)), Stride: float64(stride), Width: 1}
	return Kernel{Name: fmt.Sprint("sum_stride", stride), About: fmt.Sprintf("sum of every %dth number", stride), Count: per.each, Prepare: func(n int) func() {
		b := array(n * stride)
		return func() {
			s := 0.0
			for i := 0; i < len(b); i += stride {
				s += b[i]
			}
			sink = s
		}
	}}
}

// gather's 4-byte indices count as half a number each.
func gather() Kernel {
	per := Count{Add: 1, Load: 1.5, Gather: 1, Chain: 1, Trips: 1, Distinct: 1.5, Stride: 1, Width: 1}
	return Kernel{Name: "gather", About: "sum of b at random places", Count: per.each, Prepare: func(n int) func() {
		b, index := array(n), make([]int32, n)
		for i, v := range array(n) {
			index[i] = int32(min((v-0.5)*float64(n), float64(n-1)))
		}
		return func() {
			s := 0.0
			for _, i := range index {
				s += b[i]
			}
			sink = s
		}
	}}
}

// gemm makes a matrix product; inner is what happens n^3 times, outer n^2 times.
func gemm(name, about string, f func(n int, a, b, c []float64), inner, outer Count) Kernel {
	return Kernel{Name: name, About: about, Square: true, Count: func(n int) Count {
		i, o := inner.each(n*n*n), outer.each(n*n)
		i.Load, i.Store = i.Load+o.Load, i.Store+o.Store
		i.Distinct, i.Stride, i.Width = 3*float64(n)*float64(n), max(1, inner.Stride), max(1, inner.Width)
		if name == "gemm_ijk" {
			i.Stride = float64(n) // down a column of B
		}
		return i
	}, Prepare: func(n int) func() {
		a, b, c := array(n*n), array(n*n), make([]float64, n*n)
		return func() { f(n, a, b, c) }
	}}
}

func ijk(n int, a, b, c []float64) {
	for i := range n {
		row := a[i*n : i*n+n]
		for j := range n {
			s := 0.0
			for k, v := range row {
				s += v * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

func ikj(n int, a, b, c []float64) {
	for i := range n {
		out := c[i*n : i*n+n]
		for k := range n {
			v, row := a[i*n+k], b[k*n:k*n+n]
			for j := range out {
				out[j] += v * row[j]
			}
		}
	}
}

func gemv() Kernel {
	return Kernel{Name: "gemv", About: "y = A x", Square: true, Count: func(n int) Count {
		c := Count{Add: 1, Mul: 1, Load: 2, Chain: 1, Trips: 1, Distinct: 1}.each(n * n)
		c.Store, c.Distinct = float64(n), c.Distinct+2*float64(n)
		c.Stride, c.Width = 1, 1
		return c
	}, Prepare: func(n int) func() {
		a, x, y := array(n*n), array(n), make([]float64, n)
		return func() {
			for i := range y {
				row, s := a[i*n:i*n+n], 0.0
				for j, v := range row {
					s += v * x[j]
				}
				y[i] = s
			}
		}
	}}
}
