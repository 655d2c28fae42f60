// Package ocllaunch watches the OpenCL programs of others: each launch of a
// kernel with its shape, arguments and time, of a program that is run as it is.
// In flows the file that Layer writes (format opencl-launches), out flow
//
//	region     a kernel
//	launch     one launch: grid counts work-groups, block is the work-group; both
//	           are missing where the driver chose the work-group
//	counter    kernel_time  s  by the device's clock (the run's time metric)
//	attribute  of the launch: global_size, local_size, args ("value:HEX",
//	           "buffer:BYTES", "local:BYTES", empty for what is not known)
//
// Layer is the source of a library in C that an OpenCL loader puts between a
// program and its driver (the variable OPENCL_LAYERS, ocl-icd since 2.3 and
// Khronos' loader since 3.0.9). It is built where it is used:
//
//	cc -shared -fPIC -O1 -o layer.so layer.c
//	OPENCL_LAYERS=$PWD/layer.so ROOFLAB_OPENCL_LAUNCHES=launches.jsonl ./program
//	rooflab import --store S launches.jsonl
//
// Launches wait for each other while it watches. A driver on the CPU, as PoCL is,
// runs kernels in the process of the program: a kernel that means to can write
// what it likes into the file. It is a profile, and no measurement to decide by.
package ocllaunch

import _ "embed"

// Layer is the source in C.
//
//go:embed native/layer.c
var Layer []byte

// Variables of the environment: what the loader reads, and what Layer reads.
const (
	LayersVariable = "OPENCL_LAYERS"           // the library that is built of Layer
	FileVariable   = "ROOFLAB_OPENCL_LAUNCHES" // the file that it writes
)

// Format is the name of the file's format.
const Format = "opencl-launches"

// BuildFlags are what a C compiler is told to make a library of Layer, before
// the names of its output and of the source.
var BuildFlags = []string{"-shared", "-fPIC", "-O1"}
