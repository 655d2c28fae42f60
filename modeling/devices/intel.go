package devices

// Documents of Intel.
const (
	xeGuide  = "Intel oneAPI GPU Optimization Guide, Intel Xe GPU Architecture: Xe-core of the Data Center GPU Max Series, operations per clock"
	pvcChips = "Intel, Ponte Vecchio, Hot Chips 34 (2022): L1 105 TB/s, 512 bytes/clk per Xe-core; L2 13 TB/s"
	maxPage  = "Intel Data Center GPU Max 1550, ARK product specifications"
)

// Vector rates of an Xe core are those of its 8 vector engines, matrix rates
// those of its 8 XMX engines. Shared local memory is cut from L1.
var xeHPC = &arch{vendor: "Intel", family: "Xe HPC", isa: "", unit: "Xe core", warp: 16,
	rates:     rates{FP64: 256, FP32: 256, FP16: 512, TensorTF32: 2048, TensorFP16: 4096, TensorBF16: 4096, TensorINT8: 8192},
	ratesFrom: xeGuide, bytes: bytes{L1: 512}, bytesFrom: pvcChips, l1: 512 * kib}

// intelGPUs are Intel's GPUs, in the units of the table nvidia.
var intelGPUs = []row{
	{name: "Intel Data Center GPU Max 1550", arch: xeHPC, units: 128, base: 900, boost: 1600, bus: 8192, gbps: 3.2, gb: 128, l2: 408 * mib, watt: 600, from: maxPage,
		note:    "both stacks, which Level Zero and OpenCL can show as two devices of half of it",
		printed: rates{FP64: 52.4, FP32: 52.4, TensorTF32: 419, TensorFP16: 839, TensorBF16: 839, TensorINT8: 1678}, gbs: bytes{DRAM: 3276.8, L1: 105e3, L2: 13e3}},
}
