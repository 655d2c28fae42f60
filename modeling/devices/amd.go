package devices

// Documents of AMD.
const (
	vega20WP    = "AMD Radeon Instinct MI60 and MI50 data sheets and product pages, peak figures"
	radeon7Page = "AMD Radeon VII product page, specifications"
	cdna1WP     = "Introducing AMD CDNA Architecture white paper, table 1 (MI100)"
	cdna2WP     = "Introducing AMD CDNA 2 Architecture white paper, table 1 (MI250X), and data sheets of the MI200 series"
	cdna2L2     = "Introducing AMD CDNA 2 Architecture white paper, memory hierarchy: 32 slices of L2 per GCD, 128 B/clk each, 6.96 TB/s; double of the generation before"
	cdna3WP     = "AMD CDNA 3 Architecture white paper, table 1, and data sheets of the MI300 series"
	cdna3L3     = "AMD CDNA 3 Architecture white paper, memory hierarchy: Infinity Cache, 17.2 TB/s"
	cdna4WP     = "Introducing AMD CDNA 4 Architecture white paper, table 1 (MI355X), and data sheets of the MI350 series"
	rocprof     = "ROCm Compute Profiler, analysis configuration of the architecture, peaks of the system speed of light"
	rdnaPage    = "AMD Radeon product page of the card, specifications"
	rdnaWMMA    = "AMD GPUOpen, How to accelerate AI applications on RDNA 3 using WMMA, table of FLOPS/clock/CU"
	rdnaISA     = "AMD RDNA instruction set architecture reference guides: wave32, 16 wavefronts per SIMD"
)

// The compute units. Wavefronts of CDNA and Vega have 64 threads; their limits
// are those that ROCm Compute Profiler's sysinfo gives per compute unit.
var (
	gfx906 = &arch{vendor: "AMD", family: "Vega 20", isa: "gfx906", unit: "CU", warp: 64,
		rates: rates{FP64: 64, FP32: 128, FP16: 256}, ratesFrom: vega20WP,
		bytes: bytes{L1: 64, Shared: 128}, bytesFrom: rocprof,
		l1: 16 * kib, threads: 40 * 64, regs: 65536, shared: 64 * kib, sharedBlock: 64 * kib, limitsFrom: rocprof}
	gfx908 = &arch{vendor: "AMD", family: "CDNA", isa: "gfx908", unit: "CU", warp: 64,
		rates:     rates{FP64: 64, FP32: 128, TensorFP32: 256, TensorFP16: 1024, TensorBF16: 512, TensorINT8: 1024},
		ratesFrom: cdna1WP, bytes: bytes{L1: 64, Shared: 128}, bytesFrom: rocprof,
		l1: 16 * kib, threads: 40 * 64, shared: 64 * kib, sharedBlock: 64 * kib, limitsFrom: rocprof}
	// FP32 without the packed instructions, as AMD prints it.
	gfx90a = &arch{vendor: "AMD", family: "CDNA 2", isa: "gfx90a", unit: "CU", warp: 64,
		rates:     rates{FP64: 128, FP32: 128, TensorFP64: 256, TensorFP32: 256, TensorFP16: 1024, TensorBF16: 1024, TensorINT8: 1024},
		ratesFrom: cdna2WP, bytes: bytes{L1: 64, Shared: 128}, bytesFrom: rocprof,
		l1: 16 * kib, threads: 32 * 64, regs: 131072, shared: 64 * kib, sharedBlock: 64 * kib, limitsFrom: rocprof}
	gfx942 = &arch{vendor: "AMD", family: "CDNA 3", isa: "gfx942", unit: "CU", warp: 64,
		rates:     rates{FP64: 128, FP32: 256, TensorFP64: 256, TensorFP32: 256, TensorTF32: 1024, TensorFP16: 2048, TensorBF16: 2048, TensorFP8: 4096, TensorINT8: 4096},
		ratesFrom: cdna3WP, bytes: bytes{L1: 128, Shared: 128}, bytesFrom: rocprof,
		l1: 32 * kib, threads: 32 * 64, regs: 131072, shared: 64 * kib, sharedBlock: 64 * kib, limitsFrom: rocprof}
	gfx950 = &arch{vendor: "AMD", family: "CDNA 4", isa: "gfx950", unit: "CU", warp: 64,
		rates:     rates{FP64: 128, FP32: 256, TensorFP64: 128, TensorFP32: 256, TensorFP16: 4096, TensorBF16: 4096, TensorFP8: 8192, TensorINT8: 8192},
		ratesFrom: cdna4WP,
		l1:        32 * kib, threads: 32 * 64, regs: 131072, shared: 160 * kib, sharedBlock: 160 * kib, limitsFrom: cdna4WP}
	rdna2 = arch{vendor: "AMD", family: "RDNA 2", unit: "CU", warp: 32,
		rates: rates{FP32: 128, FP16: 256}, ratesFrom: rdnaPage, threads: 32 * 32, limitsFrom: rdnaISA}
	// FP32 counts the dual issue of RDNA 3, as AMD prints it.
	rdna3 = arch{vendor: "AMD", family: "RDNA 3", unit: "CU", warp: 32,
		rates: rates{FP32: 256, FP16: 512, TensorFP16: 512, TensorBF16: 512, TensorINT8: 512}, ratesFrom: rdnaPage + "; matrices: " + rdnaWMMA,
		threads: 32 * 32, limitsFrom: rdnaISA}
	gfx1030, gfx1032, gfx1100 = rdna2.named("gfx1030"), rdna2.named("gfx1032"), rdna3.named("gfx1100")
)

func (a arch) named(isa string) *arch {
	a.isa = isa
	return &a
}

const gcd = "one of the two dies (GCDs) of the module, which are devices of their own to ROCm; printed figures are half of the module's, and the module's power is shared"

// amd are AMD's GPUs, in the units of the table nvidia. units are compute
// units, boost is the peak engine clock.
var amd = []row{
	{name: "AMD Radeon Instinct MI50", arch: gfx906, units: 60, boost: 1725, bus: 4096, gbps: 2, l2: 4 * mib, watt: 300, from: vega20WP,
		printed: rates{FP64: 6.6, FP32: 13.3, FP16: 26.5}, gbs: bytes{DRAM: 1024}},
	{name: "AMD Radeon Instinct MI60", arch: gfx906, units: 64, boost: 1800, bus: 4096, gbps: 2, gib: 32, l2: 4 * mib, watt: 300, from: vega20WP,
		printed: rates{FP64: 7.4, FP32: 14.7, FP16: 29.5}, gbs: bytes{DRAM: 1024}},
	{name: "AMD Radeon VII", arch: gfx906, units: 60, base: 1400, boost: 1750, bus: 4096, gbps: 2, gib: 16, l2: 4 * mib, watt: 300, from: radeon7Page,
		printed: rates{FP64: 3.36, FP32: 13.44, FP16: 26.88}, gbs: bytes{DRAM: 1024}, rates: rates{FP64: 32}},
	{name: "AMD Instinct MI100", arch: gfx908, units: 120, boost: 1502, bus: 4096, gbps: 2.4, gib: 32, l2: 8 * mib, l2clk: 32 * 64, l2From: cdna2L2, watt: 300, from: cdna1WP,
		printed: rates{FP64: 11.5, FP32: 23.1, TensorFP32: 46.1, TensorFP16: 184.6, TensorBF16: 92.3, TensorINT8: 184.6}, gbs: bytes{DRAM: 1228.8}},
	{name: "AMD Instinct MI210", series: "MI200", arch: gfx90a, units: 104, boost: 1700, bus: 4096, gbps: 3.2, gib: 64, l2: 8 * mib, l2clk: 32 * 128, l2From: cdna2L2, watt: 300, from: cdna2WP,
		printed: rates{FP64: 22.6, FP32: 22.6, TensorFP64: 45.3, TensorFP32: 45.3, TensorFP16: 181, TensorBF16: 181, TensorINT8: 181}, gbs: bytes{DRAM: 1638.4, L2: 6960}},
	{name: "AMD Instinct MI250 (one GCD)", also: []string{"AMD Instinct MI250", "AMD Instinct MI250X/MI250"}, series: "MI200", arch: gfx90a, units: 104, boost: 1700, bus: 4096, gbps: 3.2, gib: 64, l2: 8 * mib, l2clk: 32 * 128, l2From: cdna2L2, from: cdna2WP, note: gcd,
		printed: rates{FP64: 45.3 / 2, FP32: 45.3 / 2, TensorFP64: 90.5 / 2, TensorFP32: 90.5 / 2, TensorFP16: 362.1 / 2, TensorBF16: 362.1 / 2, TensorINT8: 362.1 / 2}, gbs: bytes{DRAM: 3276.8 / 2, L2: 6960}},
	{name: "AMD Instinct MI250X (one GCD)", also: []string{"AMD Instinct MI250X", "AMD Instinct MI250X/MI250"}, series: "MI200", arch: gfx90a, units: 110, boost: 1700, bus: 4096, gbps: 3.2, gib: 64, l2: 8 * mib, l2clk: 32 * 128, l2From: cdna2L2, from: cdna2WP, note: gcd,
		printed: rates{FP64: 47.9 / 2, FP32: 47.9 / 2, TensorFP64: 95.7 / 2, TensorFP32: 95.7 / 2, TensorFP16: 383. / 2, TensorBF16: 383. / 2, TensorINT8: 383. / 2}, gbs: bytes{DRAM: 3276.8 / 2, L2: 6960}},
	{name: "AMD Instinct MI300A", also: []string{"MI300A_A1", "AMD Instinct MI300A Accelerator"}, arch: gfx942, units: 228, boost: 2100, bus: 8192, gbps: 5.2, gib: 128, l2: 24 * mib, l2clk: 6 * 16 * 128, l2From: rocprof, l3: 256 * mib, watt: 550, from: cdna3WP,
		printed: rates{FP64: 61.3, FP32: 122.6, TensorFP64: 122.6, TensorFP32: 122.6, TensorTF32: 490.3, TensorFP16: 980.6, TensorBF16: 980.6, TensorFP8: 1961.2, TensorINT8: 1961.2}, gbs: bytes{DRAM: 5300, L3: 17200}},
	{name: "AMD Instinct MI300X", also: []string{"MI300X_A1", "AMD Instinct MI300X OAM"}, arch: gfx942, units: 304, boost: 2100, bus: 8192, gbps: 5.2, gib: 192, l2: 32 * mib, l2clk: 8 * 16 * 128, l2From: rocprof, l3: 256 * mib, watt: 750, from: cdna3WP,
		printed: rates{FP64: 81.7, FP32: 163.4, TensorFP64: 163.4, TensorFP32: 163.4, TensorTF32: 653.7, TensorFP16: 1307.4, TensorBF16: 1307.4, TensorFP8: 2614.9, TensorINT8: 2614.9}, gbs: bytes{DRAM: 5300, L3: 17200}},
	{name: "AMD Instinct MI325X", arch: gfx942, units: 304, boost: 2100, bus: 8192, gb: 256, l2: 32 * mib, l2clk: 8 * 16 * 128, l2From: rocprof, l3: 256 * mib, watt: 1000, from: cdna3WP,
		printed: rates{FP64: 81.7, FP32: 163.4, TensorFP64: 163.4, TensorFP32: 163.4, TensorTF32: 653.7, TensorFP16: 1307.4, TensorBF16: 1307.4, TensorFP8: 2614.9, TensorINT8: 2614.9}, gbs: bytes{DRAM: 6000, L3: 17200}},
	{name: "AMD Instinct MI350X", arch: gfx950, units: 256, boost: 2200, bus: 8192, gbps: 8, gb: 288, l2: 32 * mib, l3: 256 * mib, watt: 1000, from: cdna4WP,
		printed: rates{FP64: 72.1, FP32: 144.2, TensorFP64: 72.1, TensorFP32: 144.2, TensorFP16: 2300, TensorBF16: 2300, TensorFP8: 4600, TensorINT8: 4600}, gbs: bytes{DRAM: 8000}},
	{name: "AMD Instinct MI355X", arch: gfx950, units: 256, boost: 2400, bus: 8192, gbps: 8, gb: 288, l2: 32 * mib, l3: 256 * mib, watt: 1400, from: cdna4WP,
		printed: rates{FP64: 78.6, FP32: 157.3, TensorFP64: 78.6, TensorFP32: 157.3, TensorFP16: 2500, TensorBF16: 2500, TensorFP8: 5000, TensorINT8: 5000}, gbs: bytes{DRAM: 8000}},

	{name: "AMD Radeon PRO W6600", arch: gfx1032, units: 28, boost: 2903, bus: 128, gbps: 14, gib: 8, l3: 32 * mib, watt: 100, from: rdnaPage,
		printed: rates{FP32: 10.4, FP16: 20.8}, gbs: bytes{DRAM: 224}},
	{name: "AMD Radeon PRO W6800", arch: gfx1030, units: 60, boost: 2320, bus: 256, gbps: 16, gib: 32, l3: 128 * mib, watt: 250, from: rdnaPage,
		printed: rates{FP32: 17.83, FP16: 35.66}, gbs: bytes{DRAM: 512}},
	{name: "AMD Radeon RX 6900 XT", arch: gfx1030, units: 80, boost: 2250, bus: 256, gbps: 16, gib: 16, l3: 128 * mib, watt: 300, from: rdnaPage,
		printed: rates{FP32: 23.04, FP16: 46.08}, gbs: bytes{DRAM: 512}},
	{name: "AMD Radeon RX 7900 XTX", arch: gfx1100, units: 96, boost: 2500, bus: 384, gbps: 20, gib: 24, l3: 96 * mib, watt: 355, from: rdnaPage,
		printed: rates{FP32: 61.4, FP16: 122.8}, gbs: bytes{DRAM: 960}},
	{name: "AMD Radeon PRO W7900", arch: gfx1100, units: 96, boost: 2495, bus: 384, gbps: 18, gib: 48, l3: 96 * mib, watt: 295, from: rdnaPage,
		printed: rates{FP32: 61.3, FP16: 122.6}, gbs: bytes{DRAM: 864}},
}
