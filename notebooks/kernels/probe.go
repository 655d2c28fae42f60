package kernels

// registers makes a probe of n rounds of multiply-adds on values that stay in
// registers: chains independent ones of width numbers each.
func registers(name string, width, chains int, f func(n int)) Kernel {
	return Kernel{Name: name, About: "multiply-adds in registers", Count: func(n int) Count {
		all := float64(n) * float64(width) * float64(chains)
		c := Count{FMA: all, Trips: float64(n), Chain: float64(n), Stride: 1, Width: float64(width)}
		if width == 1 { // written as two operations
			c.Add, c.Mul, c.FMA = all, all, 0
		}
		return c
	}, Prepare: func(n int) func() { return func() { f(n) } }}
}

// scalarFMAProbe is the best that scalar code does, which is what the Go
// compiler makes of loops.
func scalarFMAProbe() Kernel {
	return registers("muladd_scalar", 1, 8, func(n int) {
		const x, y = 0.5, 1.0
		a, b, c, d, e, f, g, h := 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0 // equal ones would be computed once
		for range n {
			a, b, c, d = a*x+y, b*x+y, c*x+y, d*x+y
			e, f, g, h = e*x+y, f*x+y, g*x+y, h*x+y
		}
		sink = a + b + c + d + e + f + g + h
	})
}
