package devices

// Documents of NVIDIA.
const (
	cudaLimits   = "CUDA C++ Programming Guide, Compute Capabilities, technical specifications per compute capability"
	cudaBanks    = "CUDA C++ Programming Guide, Compute Capabilities: shared memory has 32 banks, each of 4 bytes per clock"
	p100WP       = "NVIDIA Tesla P100 white paper (WP-08019), table of Tesla P100 compared to prior GPUs"
	p100Sheet    = "NVIDIA Tesla P100 GPU accelerator, data sheet"
	p4Sheet      = "NVIDIA Tesla P4 GPU accelerator, data sheet"
	gp104WP      = "NVIDIA GeForce GTX 1080 white paper, specification table"
	gtxPage      = "NVIDIA GeForce product page, specifications"
	voltaWP      = "NVIDIA Tesla V100 GPU Architecture white paper (WP-08608), table of Tesla V100 compared to prior GPUs"
	v100Sheet    = "NVIDIA V100 Tensor Core GPU data sheet"
	turingWP     = "NVIDIA Turing GPU Architecture white paper (WP-09183), specification tables of the appendices"
	t4Sheet      = "NVIDIA T4 Tensor Core GPU data sheet"
	a100WP       = "NVIDIA A100 Tensor Core GPU Architecture white paper v1.0, table 4"
	a100Sheet    = "NVIDIA A100 Tensor Core GPU data sheet"
	a100L2       = "NVIDIA A100 Tensor Core GPU Architecture white paper v1.0, page 35: L2 reads 5120 bytes/clk on A100, 2048 on V100"
	a30Sheet     = "NVIDIA A30 Tensor Core GPU data sheet"
	ga102WP      = "NVIDIA Ampere GA102 GPU Architecture white paper, specification tables"
	ga10xL1      = "NVIDIA Ampere GA102 GPU Architecture white paper: 128 bytes/clk of shared memory per SM on GA10x, 64 on Turing, and L1 bandwidths in that ratio"
	a10Sheet     = "NVIDIA A10 Tensor Core GPU data sheet"
	a40Sheet     = "NVIDIA A40 GPU data sheet"
	rtxASheet    = "NVIDIA RTX A-series data sheet of the card"
	orinSheet    = "NVIDIA Jetson AGX Orin Series technical brief and data sheet"
	adaWP        = "NVIDIA Ada GPU Architecture white paper v2.1, specification tables of the appendices"
	l4Sheet      = "NVIDIA L4 Tensor Core GPU data sheet"
	l40Sheet     = "NVIDIA L40 GPU data sheet"
	l40sSheet    = "NVIDIA L40S GPU data sheet"
	rtxAdaSheet  = "NVIDIA RTX Ada Generation data sheet of the card"
	h100WP       = "NVIDIA H100 Tensor Core GPU Architecture white paper v1.04, table 3"
	h100Sheet    = "NVIDIA H100 Tensor Core GPU data sheet"
	h200Sheet    = "NVIDIA H200 Tensor Core GPU data sheet"
	gh200Sheet   = "NVIDIA GH200 Grace Hopper Superchip data sheet"
	b200Sheet    = "NVIDIA HGX B200 specifications, an eighth of the board's figures"
	blackwellWP  = "NVIDIA RTX Blackwell GPU Architecture white paper, specification tables of the appendices"
	proBlackwell = "NVIDIA RTX PRO Blackwell GPU Architecture white paper and data sheet of the card"
)

// The streaming multiprocessors. Rates of compute capabilities are the lanes
// of the white papers' tables, two operations each.
var (
	gp100 = &arch{vendor: "NVIDIA", family: "Pascal", isa: "cc6.0", unit: "SM", warp: 32,
		rates: rates{FP64: 64, FP32: 128, FP16: 256}, ratesFrom: p100WP,
		bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		threads: 2048, blocks: 32, regs: 65536, shared: 64 * kib, sharedBlock: 48 * kib, limitsFrom: cudaLimits}
	gp10x = &arch{vendor: "NVIDIA", family: "Pascal", isa: "cc6.1", unit: "SM", warp: 32,
		rates: rates{FP64: 8, FP32: 256}, ratesFrom: gp104WP,
		bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		threads: 2048, blocks: 32, regs: 65536, shared: 96 * kib, sharedBlock: 48 * kib, limitsFrom: cudaLimits}
	gv100 = &arch{vendor: "NVIDIA", family: "Volta", isa: "cc7.0", unit: "SM", warp: 32,
		rates: rates{FP64: 64, FP32: 128, FP16: 256, INT32: 128, TensorFP16: 1024}, ratesFrom: voltaWP,
		bytes: bytes{L1: 128, Shared: 128}, bytesFrom: cudaBanks + "; L1: Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking (arXiv:1804.06826), chapter 3, 128 bytes/clk per SM",
		l1: 128 * kib, threads: 2048, blocks: 32, regs: 65536, shared: 96 * kib, sharedBlock: 96 * kib, limitsFrom: cudaLimits}
	// Turing for GeForce: accumulation in FP32 at half the rate.
	turing = &arch{vendor: "NVIDIA", family: "Turing", isa: "cc7.5", unit: "SM", warp: 32,
		rates: rates{FP64: 4, FP32: 128, FP16: 256, INT32: 128, TensorFP16: 512, TensorINT8: 2048}, ratesFrom: turingWP,
		bytes: bytes{L1: 64, Shared: 64}, bytesFrom: ga10xL1,
		l1: 96 * kib, threads: 1024, blocks: 16, regs: 65536, shared: 64 * kib, sharedBlock: 64 * kib, limitsFrom: cudaLimits}
	turingPro = turing.with(rates{TensorFP16: 1024})
	ga100     = &arch{vendor: "NVIDIA", family: "Ampere", isa: "cc8.0", unit: "SM", warp: 32,
		rates:     rates{FP64: 64, FP32: 128, FP16: 512, BF16: 256, INT32: 128, TensorFP64: 128, TensorTF32: 1024, TensorFP16: 2048, TensorBF16: 2048, TensorINT8: 4096},
		ratesFrom: a100WP, bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		l1: 192 * kib, threads: 2048, blocks: 32, regs: 65536, shared: 164 * kib, sharedBlock: 163 * kib, limitsFrom: cudaLimits}
	ga10x = &arch{vendor: "NVIDIA", family: "Ampere", isa: "cc8.6", unit: "SM", warp: 32,
		rates:     rates{FP64: 4, FP32: 256, FP16: 256, BF16: 256, INT32: 128, TensorTF32: 256, TensorFP16: 512, TensorBF16: 512, TensorINT8: 2048},
		ratesFrom: ga102WP, bytes: bytes{L1: 128, Shared: 128}, bytesFrom: ga10xL1,
		l1: 128 * kib, threads: 1536, blocks: 16, regs: 65536, shared: 100 * kib, sharedBlock: 99 * kib, limitsFrom: cudaLimits}
	ga10xPro = ga10x.with(rates{TensorTF32: 512, TensorFP16: 1024, TensorBF16: 1024})
	orin     = &arch{vendor: "NVIDIA", family: "Ampere", isa: "cc8.7", unit: "SM", warp: 32,
		rates: rates{FP32: 256, TensorINT8: 4096}, ratesFrom: orinSheet,
		bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		l1: 192 * kib, threads: 1536, blocks: 16, regs: 65536, shared: 164 * kib, sharedBlock: 163 * kib, limitsFrom: cudaLimits}
	ad10x = &arch{vendor: "NVIDIA", family: "Ada Lovelace", isa: "cc8.9", unit: "SM", warp: 32,
		rates:     rates{FP64: 4, FP32: 256, FP16: 256, BF16: 256, INT32: 128, TensorTF32: 256, TensorFP16: 512, TensorBF16: 512, TensorFP8: 1024, TensorINT8: 2048},
		ratesFrom: adaWP, bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		l1: 128 * kib, threads: 1536, blocks: 24, regs: 65536, shared: 100 * kib, sharedBlock: 99 * kib, limitsFrom: cudaLimits}
	ad10xPro = ad10x.with(rates{TensorTF32: 512, TensorFP16: 1024, TensorBF16: 1024, TensorFP8: 2048})
	gh100    = &arch{vendor: "NVIDIA", family: "Hopper", isa: "cc9.0", unit: "SM", warp: 32,
		rates:     rates{FP64: 128, FP32: 256, FP16: 512, BF16: 512, INT32: 128, TensorFP64: 256, TensorTF32: 2048, TensorFP16: 4096, TensorBF16: 4096, TensorFP8: 8192, TensorINT8: 8192},
		ratesFrom: h100WP, bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		l1: 256 * kib, threads: 2048, blocks: 32, regs: 65536, shared: 228 * kib, sharedBlock: 227 * kib, limitsFrom: cudaLimits}
	gb100 = &arch{vendor: "NVIDIA", family: "Blackwell", isa: "cc10.0", unit: "SM", warp: 32,
		bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		l1: 256 * kib, threads: 2048, blocks: 32, regs: 65536, shared: 228 * kib, sharedBlock: 227 * kib, limitsFrom: cudaLimits}
	// INT32 as the white paper prints it, from one lane for integers and FP32;
	// the CUDA Best Practices Guide gives multiply-adds half of that.
	gb20x = &arch{vendor: "NVIDIA", family: "Blackwell", isa: "cc12.0", unit: "SM", warp: 32,
		rates:     rates{FP64: 4, FP32: 256, FP16: 256, BF16: 256, INT32: 256, TensorTF32: 256, TensorFP16: 512, TensorBF16: 512, TensorFP8: 1024, TensorINT8: 2048},
		ratesFrom: blackwellWP, bytes: bytes{Shared: 128}, bytesFrom: cudaBanks,
		l1: 128 * kib, threads: 1536, regs: 65536, shared: 100 * kib, sharedBlock: 99 * kib, limitsFrom: cudaLimits}
	gb20xPro = gb20x.with(rates{TensorTF32: 512, TensorFP16: 1024, TensorBF16: 1024, TensorFP8: 2048})
)

const foundersTuring = "the reference card; the Founders Edition boosts 90 MHz higher"

// nvidia are NVIDIA's GPUs. units are SMs, clocks MHz, the bus bits, the rate
// Gbit/s per pin, memory GB (GiB on the card), printed figures TFLOP/s, TOP/s
// and GB/s.
var nvidia = []row{
	{name: "Tesla P100-PCIE-16GB", arch: gp100, units: 56, base: 1126, boost: 1303, bus: 4096, gbps: 1.43, gib: 16, l2: 4 * mib, watt: 250, from: p100Sheet,
		printed: rates{FP64: 4.7, FP32: 9.3, FP16: 18.7}, gbs: bytes{DRAM: 732}},
	{name: "Tesla P100-SXM2-16GB", arch: gp100, units: 56, base: 1328, boost: 1480, bus: 4096, gbps: 1.43, gib: 16, l2: 4 * mib, watt: 300, from: p100Sheet,
		printed: rates{FP64: 5.3, FP32: 10.6, FP16: 21.2}, gbs: bytes{DRAM: 732}},
	{name: "Tesla P4", arch: gp10x, units: 20, base: 810, boost: 1063, bus: 256, gbps: 6, gib: 8, l2: 2 * mib, watt: 75, from: p4Sheet,
		printed: rates{FP32: 5.5}, gbs: bytes{DRAM: 192}},
	{name: "NVIDIA GeForce GTX 1080", arch: gp10x, units: 20, base: 1607, boost: 1733, bus: 256, gbps: 10, gib: 8, l2: 2 * mib, watt: 180, from: gp104WP,
		printed: rates{FP32: 8.873}, gbs: bytes{DRAM: 320}},
	{name: "NVIDIA GeForce GTX 1080 Ti", arch: gp10x, units: 28, base: 1480, boost: 1582, bus: 352, gbps: 11, gib: 11, l2: 2816 * kib, watt: 250, from: gtxPage,
		gbs: bytes{DRAM: 484}},

	{name: "Tesla V100-PCIE-16GB", arch: gv100, units: 80, boost: 1380, bus: 4096, gbps: 1.755, gib: 16, l2: 6 * mib, l2clk: 2048, watt: 250, from: v100Sheet,
		printed: rates{FP64: 7, FP32: 14, TensorFP16: 112}, gbs: bytes{DRAM: 900}},
	{name: "Tesla V100-PCIE-32GB", arch: gv100, units: 80, boost: 1380, bus: 4096, gbps: 1.755, gib: 32, l2: 6 * mib, l2clk: 2048, watt: 250, from: v100Sheet,
		printed: rates{FP64: 7, FP32: 14, TensorFP16: 112}, gbs: bytes{DRAM: 900}},
	{name: "Tesla V100-SXM2-16GB", arch: gv100, units: 80, boost: 1530, bus: 4096, gbps: 1.755, gib: 16, l2: 6 * mib, l2clk: 2048, watt: 300, from: voltaWP,
		printed: rates{FP64: 7.8, FP32: 15.7, FP16: 31.4, INT32: 15.7, TensorFP16: 125}, gbs: bytes{DRAM: 900}},
	{name: "Tesla V100-SXM2-32GB", also: []string{"Tesla V100-SXM3-32GB"}, arch: gv100, units: 80, boost: 1530, bus: 4096, gbps: 1.755, gib: 32, l2: 6 * mib, l2clk: 2048, watt: 300, from: v100Sheet,
		printed: rates{FP64: 7.8, FP32: 15.7, TensorFP16: 125}, gbs: bytes{DRAM: 900}},
	{name: "Tesla V100S-PCIE-32GB", arch: gv100, units: 80, boost: 1597, bus: 4096, gbps: 2.215, gib: 32, l2: 6 * mib, l2clk: 2048, watt: 250, from: v100Sheet,
		printed: rates{FP64: 8.2, FP32: 16.4, TensorFP16: 130}, gbs: bytes{DRAM: 1134}},

	{name: "NVIDIA GeForce RTX 2070", arch: turing, units: 36, base: 1410, boost: 1620, bus: 256, gbps: 14, gib: 8, l2: 4 * mib, watt: 175, from: turingWP, note: foundersTuring,
		printed: rates{FP32: 7.5, FP16: 14.9, INT32: 7.5, TensorFP16: 29.9, TensorINT8: 119.4}, gbs: bytes{DRAM: 448}},
	{name: "NVIDIA GeForce RTX 2080", arch: turing, units: 46, base: 1515, boost: 1710, bus: 256, gbps: 14, gib: 8, l2: 4 * mib, watt: 215, from: turingWP, note: foundersTuring,
		printed: rates{FP32: 10.1, FP16: 20.1, INT32: 10.1, TensorFP16: 40.3, TensorINT8: 161.1}, gbs: bytes{DRAM: 448}},
	{name: "NVIDIA GeForce RTX 2080 Ti", arch: turing, units: 68, base: 1350, boost: 1545, bus: 352, gbps: 14, gib: 11, l2: 5632 * kib, watt: 250, from: turingWP, note: foundersTuring,
		printed: rates{FP32: 13.4, FP16: 26.9, INT32: 13.4, TensorFP16: 53.8, TensorINT8: 215.2}, gbs: bytes{DRAM: 616}},
	{name: "Quadro RTX 6000", arch: turingPro, units: 72, base: 1440, boost: 1770, bus: 384, gbps: 14, gib: 24, l2: 6 * mib, watt: 260, from: turingWP,
		printed: rates{FP32: 16.3, FP16: 32.6, INT32: 16.3, TensorFP16: 130.5, TensorINT8: 261}, gbs: bytes{DRAM: 672}},
	{name: "Quadro RTX 8000", arch: turingPro, units: 72, boost: 1770, bus: 384, gbps: 14, gib: 48, l2: 6 * mib, watt: 260, from: turingWP,
		printed: rates{FP32: 16.3, TensorFP16: 130.5}, gbs: bytes{DRAM: 672}},
	{name: "Tesla T4", arch: turingPro, units: 40, base: 585, boost: 1590, bus: 256, gbps: 10, gib: 16, l2: 4 * mib, watt: 70, from: t4Sheet,
		printed: rates{FP32: 8.1, TensorFP16: 65, TensorINT8: 130}, gbs: bytes{DRAM: 320}},

	// PG509-200 is the same chip on a board for one customer: PCI device 20B0.
	{name: "NVIDIA A100-SXM4-40GB", also: []string{"NVIDIA A100-PG509-200"}, arch: ga100, units: 108, base: 1095, boost: 1410, bus: 5120, gbps: 2.43, gib: 40, l2: 40 * mib, l2clk: 5120, watt: 400, from: a100WP,
		printed: rates{FP64: 9.7, FP32: 19.5, FP16: 78, BF16: 39, INT32: 19.5, TensorFP64: 19.5, TensorTF32: 156, TensorFP16: 312, TensorBF16: 312, TensorINT8: 624}, gbs: bytes{DRAM: 1555}},
	{name: "NVIDIA A100-PCIE-40GB", arch: ga100, units: 108, base: 765, boost: 1410, bus: 5120, gbps: 2.43, gib: 40, l2: 40 * mib, l2clk: 5120, watt: 250, from: a100Sheet,
		printed: rates{FP64: 9.7, FP32: 19.5, TensorFP64: 19.5, TensorTF32: 156, TensorFP16: 312, TensorBF16: 312, TensorINT8: 624}, gbs: bytes{DRAM: 1555}},
	{name: "NVIDIA A100-SXM4-80GB", arch: ga100, units: 108, base: 1275, boost: 1410, bus: 5120, gbps: 3.186, gib: 80, l2: 40 * mib, l2clk: 5120, watt: 400, from: a100Sheet,
		printed: rates{FP64: 9.7, FP32: 19.5, TensorFP64: 19.5, TensorTF32: 156, TensorFP16: 312, TensorBF16: 312, TensorINT8: 624}, gbs: bytes{DRAM: 2039}},
	{name: "NVIDIA A100 80GB PCIe", arch: ga100, units: 108, base: 1065, boost: 1410, bus: 5120, gbps: 3.024, gib: 80, l2: 40 * mib, l2clk: 5120, watt: 300, from: a100Sheet,
		printed: rates{FP64: 9.7, FP32: 19.5, TensorFP64: 19.5, TensorTF32: 156, TensorFP16: 312, TensorBF16: 312, TensorINT8: 624}, gbs: bytes{DRAM: 1935}},
	{name: "NVIDIA A30", arch: ga100, units: 56, base: 930, boost: 1440, bus: 3072, gbps: 2.43, gib: 24, l2: 24 * mib, watt: 165, from: a30Sheet,
		printed: rates{FP64: 5.2, FP32: 10.3, TensorFP64: 10.3, TensorTF32: 82, TensorFP16: 165, TensorBF16: 165, TensorINT8: 330}, gbs: bytes{DRAM: 933}},

	{name: "NVIDIA GeForce RTX 3070", arch: ga10x, units: 46, base: 1500, boost: 1725, bus: 256, gbps: 14, gib: 8, l2: 4 * mib, watt: 220, from: ga102WP,
		printed: rates{FP32: 20.3, FP16: 20.3, INT32: 10.2, TensorFP16: 40.6, TensorBF16: 40.6, TensorTF32: 20.3, TensorINT8: 162.6}, gbs: bytes{DRAM: 448}},
	{name: "NVIDIA GeForce RTX 3080", arch: ga10x, units: 68, base: 1440, boost: 1710, bus: 320, gbps: 19, gib: 10, l2: 5 * mib, watt: 320, from: ga102WP,
		note:    "the card of 2022 with 12 GB, 70 SMs and a bus of 384 bits reports the same name",
		printed: rates{FP32: 29.8, FP16: 29.8, BF16: 29.8, INT32: 14.9, TensorFP16: 59.5, TensorBF16: 59.5, TensorTF32: 29.8, TensorINT8: 238}, gbs: bytes{DRAM: 760}},
	{name: "NVIDIA GeForce RTX 3080 Ti", arch: ga10x, units: 80, base: 1365, boost: 1665, bus: 384, gbps: 19, gib: 12, l2: 6 * mib, watt: 350, from: gtxPage,
		gbs: bytes{DRAM: 912}},
	{name: "NVIDIA GeForce RTX 3090", arch: ga10x, units: 82, base: 1395, boost: 1695, bus: 384, gbps: 19.5, gib: 24, l2: 6 * mib, watt: 350, from: ga102WP,
		printed: rates{FP32: 35.6, FP16: 35.6, BF16: 35.6, INT32: 17.8, TensorFP16: 71, TensorBF16: 71, TensorTF32: 35.6, TensorINT8: 284}, gbs: bytes{DRAM: 936}},
	{name: "NVIDIA GeForce RTX 3090 Ti", arch: ga10x, units: 84, base: 1560, boost: 1860, bus: 384, gbps: 21, gib: 24, l2: 6 * mib, watt: 450, from: adaWP,
		printed: rates{FP32: 40, TensorFP16: 80}, gbs: bytes{DRAM: 1008}},
	{name: "NVIDIA A10", arch: ga10xPro, units: 72, base: 885, boost: 1695, bus: 384, gbps: 12.5, gib: 24, l2: 6 * mib, watt: 150, from: a10Sheet,
		printed: rates{FP32: 31.2, TensorTF32: 62.5, TensorFP16: 125, TensorBF16: 125, TensorINT8: 250}, gbs: bytes{DRAM: 600}},
	{name: "NVIDIA A40", arch: ga10xPro, units: 84, base: 1305, boost: 1740, bus: 384, gbps: 14.5, gib: 48, l2: 6 * mib, watt: 300, from: a40Sheet,
		printed: rates{FP32: 37.4, TensorTF32: 74.8, TensorFP16: 149.7, TensorBF16: 149.7, TensorINT8: 299.3}, gbs: bytes{DRAM: 696}},
	{name: "NVIDIA RTX A4000", arch: ga10xPro, units: 48, boost: 1560, bus: 256, gbps: 14, gib: 16, l2: 4 * mib, watt: 140, from: rtxASheet,
		printed: rates{FP32: 19.2, TensorFP16: 153.4 / 2}, gbs: bytes{DRAM: 448}},
	{name: "NVIDIA RTX A5000", arch: ga10xPro, units: 64, boost: 1695, bus: 384, gbps: 16, gib: 24, l2: 6 * mib, watt: 230, from: rtxASheet,
		printed: rates{FP32: 27.8, TensorFP16: 222.2 / 2}, gbs: bytes{DRAM: 768}},
	{name: "NVIDIA RTX A6000", arch: ga10xPro, units: 84, boost: 1800, bus: 384, gbps: 16, gib: 48, l2: 6 * mib, watt: 300, from: rtxASheet,
		printed: rates{FP32: 38.7, TensorFP16: 309.7 / 2}, gbs: bytes{DRAM: 768}},
	{name: "Jetson AGX Orin 64GB", arch: orin, units: 16, boost: 1300, bus: 256, gbps: 6.4, gib: 64, l2: 4 * mib, watt: 60, from: orinSheet,
		printed: rates{FP32: 5.3, TensorINT8: 170. / 2}, gbs: bytes{DRAM: 204.8}},

	{name: "NVIDIA GeForce RTX 4070", arch: ad10x, units: 46, base: 1920, boost: 2475, bus: 192, gbps: 21, gib: 12, l2: 36 * mib, watt: 200, from: gtxPage,
		printed: rates{FP32: 29.1}, gbs: bytes{DRAM: 504}},
	{name: "NVIDIA GeForce RTX 4070 Ti", arch: ad10x, units: 60, base: 2310, boost: 2610, bus: 192, gbps: 21, gib: 12, l2: 48 * mib, watt: 285, from: gtxPage,
		printed: rates{FP32: 40.1}, gbs: bytes{DRAM: 504}},
	{name: "NVIDIA GeForce RTX 4080", arch: ad10x, units: 76, base: 2205, boost: 2505, bus: 256, gbps: 22.4, gib: 16, l2: 64 * mib, watt: 320, from: adaWP,
		printed: rates{FP32: 48.7, TensorFP16: 97.5, TensorFP8: 194.9, TensorINT8: 389.9}, gbs: bytes{DRAM: 716.8}},
	{name: "NVIDIA GeForce RTX 4090", arch: ad10x, units: 128, base: 2235, boost: 2520, bus: 384, gbps: 21, gib: 24, l2: 72 * mib, watt: 450, from: adaWP,
		printed: rates{FP32: 82.6, FP16: 82.6, BF16: 82.6, INT32: 41.3, TensorFP16: 165.2, TensorBF16: 165.2, TensorTF32: 82.6, TensorFP8: 330.3, TensorINT8: 660.6}, gbs: bytes{DRAM: 1008}},
	{name: "NVIDIA L4", arch: ad10xPro, units: 58, base: 795, boost: 2040, bus: 192, gbps: 12.5, gib: 24, l2: 48 * mib, watt: 72, from: l4Sheet,
		printed: rates{FP32: 30.3, TensorTF32: 120. / 2, TensorFP16: 242. / 2, TensorBF16: 242. / 2, TensorFP8: 485. / 2, TensorINT8: 485. / 2}, gbs: bytes{DRAM: 300}},
	{name: "NVIDIA L40", arch: ad10x, units: 142, base: 735, boost: 2490, bus: 384, gbps: 18, gib: 48, l2: 96 * mib, watt: 300, from: l40Sheet,
		printed: rates{FP32: 90.5, TensorTF32: 90.5, TensorFP16: 181.05, TensorBF16: 181.05, TensorFP8: 362, TensorINT8: 362}, gbs: bytes{DRAM: 864},
		rates: rates{TensorINT8: 1024}},
	{name: "NVIDIA L40S", arch: ad10xPro, units: 142, base: 1110, boost: 2520, bus: 384, gbps: 18, gib: 48, l2: 96 * mib, watt: 350, from: l40sSheet,
		printed: rates{FP32: 91.6, TensorTF32: 183, TensorFP16: 733. / 2, TensorBF16: 733. / 2, TensorFP8: 733, TensorINT8: 733}, gbs: bytes{DRAM: 864}},
	{name: "NVIDIA RTX 4000 Ada Generation", arch: ad10xPro, units: 48, boost: 2175, bus: 160, gbps: 18, gib: 20, watt: 130, from: rtxAdaSheet,
		printed: rates{FP32: 26.7, TensorFP8: 427.6 / 2}, gbs: bytes{DRAM: 360}},
	{name: "NVIDIA RTX 6000 Ada Generation", arch: ad10xPro, units: 142, boost: 2505, bus: 384, gbps: 20, gib: 48, l2: 96 * mib, watt: 300, from: rtxAdaSheet,
		printed: rates{FP32: 91.1, TensorFP8: 1457. / 2}, gbs: bytes{DRAM: 960}},

	{name: "NVIDIA H100 PCIe", arch: gh100, units: 114, boost: 1755, tensor: 1620, bus: 5120, gbps: 3.186, gib: 80, l2: 50 * mib, watt: 350, from: h100WP,
		printed: rates{FP64: 25.6, FP32: 51.2, FP16: 102.4, BF16: 102.4, INT32: 25.6, TensorFP64: 51.2, TensorTF32: 378, TensorFP16: 756, TensorBF16: 756, TensorFP8: 1513, TensorINT8: 1513}, gbs: bytes{DRAM: 2039}},
	{name: "NVIDIA H100 80GB HBM3", also: []string{"NVIDIA H100 SXM5 80GB", "H100 SXM"}, arch: gh100, units: 132, boost: 1980, tensor: 1830, bus: 5120, gbps: 5.238, gib: 80, l2: 50 * mib, watt: 700, from: h100WP,
		printed: rates{FP64: 33.5, FP32: 66.9, FP16: 133.8, BF16: 133.8, INT32: 33.5, TensorFP64: 66.9, TensorTF32: 494.7, TensorFP16: 989.4, TensorBF16: 989.4, TensorFP8: 1978.9, TensorINT8: 1978.9}, gbs: bytes{DRAM: 3352}},
	// No clock that is told explains the figures of NVL's matrix units: they stand as printed.
	{name: "NVIDIA H100 NVL", arch: gh100, units: 132, boost: 1785, tensor: unstated, bus: 6144, gb: 94, l2: 50 * mib, watt: 400, from: h100Sheet,
		printed: rates{FP64: 30, FP32: 60, TensorTF32: 835. / 2, TensorFP16: 1671. / 2, TensorBF16: 1671. / 2, TensorFP8: 3341. / 2, TensorINT8: 3341. / 2}, gbs: bytes{DRAM: 3900}},
	{name: "NVIDIA H200", also: []string{"NVIDIA H200 SXM 141GB HBM3e"}, arch: gh100, units: 132, boost: 1980, tensor: 1830, bus: 6144, gb: 141, l2: 50 * mib, watt: 700, from: h200Sheet,
		printed: rates{FP64: 34, FP32: 67, TensorFP64: 67, TensorTF32: 989. / 2, TensorFP16: 1979. / 2, TensorBF16: 1979. / 2, TensorFP8: 3958. / 2, TensorINT8: 3958. / 2}, gbs: bytes{DRAM: 4800}},
	{name: "NVIDIA GH200 480GB", also: []string{"NVIDIA GH200 96GB HBM3"}, arch: gh100, units: 132, boost: 1980, tensor: 1830, bus: 6144, gb: 96, l2: 50 * mib, from: gh200Sheet,
		printed: rates{FP64: 34, FP32: 67, TensorFP64: 67, TensorTF32: 989. / 2, TensorFP16: 1979. / 2, TensorBF16: 1979. / 2, TensorFP8: 3958. / 2, TensorINT8: 3958. / 2}, gbs: bytes{DRAM: 4000}},
	{name: "NVIDIA GH200 144G HBM3e", arch: gh100, units: 132, boost: 1980, tensor: 1830, bus: 6144, gb: 144, l2: 50 * mib, from: gh200Sheet,
		printed: rates{FP64: 34, FP32: 67, TensorFP64: 67, TensorTF32: 989. / 2, TensorFP16: 1979. / 2, TensorBF16: 1979. / 2, TensorFP8: 3958. / 2, TensorINT8: 3958. / 2}, gbs: bytes{DRAM: 4900}},
	{name: "NVIDIA B200", arch: gb100, units: 148, gb: 180, watt: 1000, from: b200Sheet,
		printed: rates{FP64: 296. / 8, FP32: 600. / 8, TensorTF32: 18e3 / 16, TensorFP16: 36e3 / 16, TensorBF16: 36e3 / 16, TensorFP8: 72e3 / 16, TensorINT8: 72e3 / 16}, gbs: bytes{DRAM: 7700}},

	{name: "NVIDIA GeForce RTX 5070", arch: gb20x, units: 48, base: 2325, boost: 2512, bus: 192, gbps: 28, gib: 12, l2: 48 * mib, watt: 250, from: blackwellWP,
		printed: rates{FP32: 30.9, FP16: 30.9, BF16: 30.9, INT32: 30.9, TensorFP16: 61.7, TensorBF16: 61.7, TensorTF32: 30.9, TensorFP8: 123.5, TensorINT8: 246.9}, gbs: bytes{DRAM: 672}},
	{name: "NVIDIA GeForce RTX 5070 Ti", arch: gb20x, units: 70, base: 2295, boost: 2452, bus: 256, gbps: 28, gib: 16, l2: 48 * mib, watt: 300, from: blackwellWP,
		printed: rates{FP32: 43.9, FP16: 43.9, TensorFP16: 87.9, TensorFP8: 175.8, TensorINT8: 351.5}, gbs: bytes{DRAM: 896}},
	{name: "NVIDIA GeForce RTX 5080", arch: gb20x, units: 84, base: 2295, boost: 2617, bus: 256, gbps: 30, gib: 16, l2: 64 * mib, watt: 360, from: blackwellWP,
		printed: rates{FP32: 56.3, FP16: 56.3, INT32: 56.3, TensorFP16: 112.6, TensorFP8: 225.1, TensorINT8: 450.2}, gbs: bytes{DRAM: 960}},
	{name: "NVIDIA GeForce RTX 5090", arch: gb20x, units: 170, base: 2017, boost: 2407, bus: 512, gbps: 28, gib: 32, l2: 96 * mib, watt: 575, from: blackwellWP,
		printed: rates{FP32: 104.8, FP16: 104.8, BF16: 104.8, INT32: 104.8, TensorFP16: 209.5, TensorBF16: 209.5, TensorTF32: 104.8, TensorFP8: 419, TensorINT8: 838}, gbs: bytes{DRAM: 1792}},
	{name: "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", arch: gb20xPro, units: 188, boost: 2617, bus: 512, gbps: 28, gib: 96, l2: 128 * mib, watt: 600, from: proBlackwell,
		printed: rates{FP32: 125, TensorFP16: 503.8}, gbs: bytes{DRAM: 1792}},
}
