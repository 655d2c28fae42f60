package timeline

// Class is what a row of a trace is.
type Class uint8

// Classes. Those of the host stand in the order in which idle time is given to
// them where several apply, the last first.
const (
	None          Class = iota
	Compute             // a kernel
	Communication       // a kernel that communicates
	HtoD                // copies, by direction
	DtoH
	DtoD
	PtoP
	HtoH
	OtherCopy
	Memset
	HostNone        // the host was in nothing that was traced
	HostOperator    // an operator of a framework
	HostCall        // a call of CUDA's or HIP's API, none of the below
	HostLaunch      // a call that launches kernels
	HostCopy        // a call that copies or sets memory
	HostSync        // a call that waits for the device
	HostProfiler    // the profiler itself
	classes         = iota
	firstHost       = HostOperator
	firstCopy       = HtoD
	lastCopy        = OtherCopy
	workClasses     = int(Memset) + 1
	hostLast        = HostProfiler
	copyDirections  = int(lastCopy-firstCopy) + 1
	hostClassCount  = int(hostLast-firstHost) + 1
	concurrencyMost = 16
)

var classNames = [classes]string{
	None: "none", Compute: "kernel", Communication: "communication", HtoD: "host to device", DtoH: "device to host", DtoD: "device to device",
	PtoP: "peer to peer", HtoH: "host to host", OtherCopy: "copy", Memset: "memset", HostNone: "nothing that was traced", HostOperator: "operator",
	HostCall: "API call", HostLaunch: "launch call", HostCopy: "copy call", HostSync: "synchronisation", HostProfiler: "profiler",
}

// String is the name of a class.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// IsCopy reports whether it is a direction of copies.
func (c Class) IsCopy() bool { return c >= firstCopy && c <= lastCopy }

// IsKernel reports whether it is a kernel.
func (c Class) IsKernel() bool { return c == Compute || c == Communication }

// IsHost reports whether the host does it.
func (c Class) IsHost() bool { return c >= firstHost && c <= hostLast }

// classSQL gives the class of a region g with the category cat (of trace
// events), NULL for what is neither work of a device nor a call. The names are
// those that collectors write: "[CUDA memcpy Host-to-Device]" for Nsight
// Systems, the categories of Kineto, the domain MEMORY_COPY of rocprofv3.
// Waits that were traced as activities of a device (cuda_sync) are no work;
// calls of the OS runtime are left out, since most are of threads that sleep.
const classSQL = `CASE
	WHEN cat IN ('gpu_user_annotation', 'cuda_sync', 'python_function') THEN NULL
	WHEN cat IN ('gpu_memcpy', 'Memcpy') OR g.raw LIKE '[CUDA memcpy%' OR g.module = 'MEMORY_COPY' OR g.kind = 'range' AND regexp_matches(g.raw, '^Copy(Host|Device)To(Host|Device)$') THEN
		CASE WHEN regexp_matches(g.raw, 'HtoD|Host-to-Device|HOST_TO_DEVICE|HostToDevice') THEN 3
			WHEN regexp_matches(g.raw, 'DtoH|Device-to-Host|DEVICE_TO_HOST|DeviceToHost') THEN 4
			WHEN regexp_matches(g.raw, 'DtoD|Device-to-Device|DEVICE_TO_DEVICE|DeviceToDevice') THEN 5
			WHEN regexp_matches(g.raw, 'PtoP|Peer-to-Peer') THEN 6
			WHEN regexp_matches(g.raw, 'HtoH|Host-to-Host|HOST_TO_HOST') THEN 7 ELSE 8 END
	WHEN cat IN ('gpu_memset', 'Memset') OR g.raw LIKE '[CUDA memset%' THEN 9
	WHEN g.kind = 'range' AND g.raw LIKE '[CUDA graph %' THEN 1
	WHEN g.kind = 'kernel' THEN CASE WHEN regexp_matches(g.raw, '` + communicates + `', 'i') THEN 2 ELSE 1 END
	WHEN g.kind <> 'function' OR g.module = 'OS runtime' THEN NULL
	WHEN g.module IN ('CUPTI overhead', 'profiler overhead') THEN 16
	WHEN cat IN ('cpu_op', 'Operator') THEN 11
	WHEN NOT regexp_matches(g.short, '^(cuda|cu[A-Z]|hip|hsa_)') THEN NULL
	WHEN regexp_matches(g.short, 'Synchronize|^hsa_signal_wait') THEN 15
	WHEN regexp_matches(g.short, 'Memcpy|Memset|memory_async_copy') THEN 14
	WHEN regexp_matches(g.short, 'Launch') THEN 13
	ELSE 12 END`

// communicates tells kernels that move data between devices by their names:
// those of NCCL, RCCL, MSCCL, NVSHMEM and oneCCL, and of collectives that
// frameworks bring along.
const communicates = `nccl|rccl|msccl|nvshmem|oneccl|cross_device_reduce|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|sendrecv`

// synchronousSQL tells calls that return when the copy is done (Nsight Systems'
// rule cuda_memcpy_sync).
const synchronousSQL = `regexp_matches(g.short, '^(cuda|hip|cu)Memcpy') AND NOT regexp_matches(g.short, 'Async|Batch')`
