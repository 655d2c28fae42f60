//go:build !amd64 || !goexperiment.simd

package machine

func kernelSets() []kernelSet { return []kernelSet{scalarSet()} }
