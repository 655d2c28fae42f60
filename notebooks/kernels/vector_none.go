//go:build !amd64 || !goexperiment.simd

package kernels

func vector() []Kernel { return nil }

func triadProbe() Kernel { return triad() }

func fmaProbe() Kernel { return scalarFMAProbe() }
