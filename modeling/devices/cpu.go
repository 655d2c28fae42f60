package devices

// Documents about CPUs.
const (
	intelOpt  = "Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter of the microarchitecture: FMA ports and cache bandwidths"
	intelAMX  = "Intel 64 and IA-32 Architectures Optimization Reference Manual, Intel AMX: 1024 BF16 and 2048 INT8 operations per cycle and core"
	ark       = "Intel ARK, product specifications of the processor"
	amdOpt    = "AMD Software Optimization Guide for the processor's family (17h: 56305, 19h: 56665, 19h models 10h: 57647, 1Ah: 58455), load-store unit and floating-point unit"
	amdPage   = "AMD product page of the processor, specifications"
	azure7V13 = "Microsoft Azure Architecture Center, workload articles (Samadii DEM): EPYC 7V13, 64 cores, 2.44 GHz; memory as of AMD's EPYC 7003 series"
	a64fxDoc  = "Fujitsu A64FX Microarchitecture Manual, and FUJITSU Processor A64FX data sheet (2.2 GHz: 3.3792 TFLOPS, 1,024 GB/s)"
	graceDoc  = "NVIDIA Grace CPU Superchip white paper and data sheet, half of the Superchip"
	v1Doc     = "Arm Neoverse V1 Software Optimization Guide: two 256-bit SVE pipelines"
	graviton3 = "AWS re:Invent 2021, launch of Graviton3 (EC2 C7g): 64 cores, eight channels of DDR5-4800"
	power9Doc = "IBM POWER9 Processor User's Manual, and OLCF Summit User Guide: two 22-core POWER9 of 3.07 GHz, 340 GB/s per node"
)

// The cores. lanes are the FP32 lanes of the widest vector; fp64 is 2 x ports of
// multiply-adds x lanes (on Sandy Bridge a port each for adding and
// multiplying; Zen 4 takes two cycles for a vector of 512 bits). Caches: Intel's manual gives loads
// and stores of a clock, AMD's the widths of its load and store pipes.
func x86(vendor, family string, lanes int, fp64, l1, l2 float64, l1size int64) arch {
	doc := intelOpt
	if vendor == "AMD" {
		doc = amdOpt
	}
	a := arch{vendor: vendor, family: family, isa: "x86_64", unit: "core", kind: CPU, warp: lanes,
		rates: rates{FP64: fp64, FP32: 2 * fp64}, ratesFrom: doc, bytes: bytes{}, bytesFrom: doc, l1: l1size}
	if l1 > 0 {
		a.bytes[L1] = l1
	}
	if l2 > 0 {
		a.bytes[L2] = l2
	}
	return a
}

func of(a arch) *arch { return &a }

var (
	sandyBridge = of(x86("Intel", "Sandy Bridge", 8, 8, 48, 32, 32*kib))
	haswell     = of(x86("Intel", "Haswell", 8, 16, 96, 64, 32*kib))
	broadwell   = of(x86("Intel", "Broadwell", 8, 16, 96, 64, 32*kib))
	skylake     = of(x86("Intel", "Skylake (client)", 8, 16, 96, 64, 32*kib))
	skylakeSP   = of(x86("Intel", "Skylake-SP", 16, 32, 192, 64, 32*kib))
	cascadeLake = of(x86("Intel", "Cascade Lake", 16, 32, 192, 64, 32*kib))
	iceLakeSP   = of(x86("Intel", "Ice Lake-SP", 16, 32, 192, 64, 48*kib))
	sapphire    = amx(x86("Intel", "Sapphire Rapids", 16, 32, 192, 64, 48*kib))
	emerald     = amx(x86("Intel", "Emerald Rapids", 16, 32, 192, 64, 48*kib))
	zen2        = of(x86("AMD", "Zen 2", 8, 16, 96, 32, 32*kib))
	zen3        = of(x86("AMD", "Zen 3", 8, 16, 96, 32, 32*kib))
	zen4        = of(x86("AMD", "Zen 4", 16, 16, 0, 32, 32*kib))
	zen5        = of(x86("AMD", "Zen 5", 16, 32, 0, 64, 48*kib))
	a64fx       = &arch{vendor: "Fujitsu", family: "A64FX", isa: "aarch64", unit: "core", kind: CPU, warp: 16, rates: rates{FP64: 32, FP32: 64, FP16: 128}, ratesFrom: a64fxDoc, bytes: bytes{L1: 128}, bytesFrom: a64fxDoc, l1: 64 * kib}
	grace       = &arch{vendor: "NVIDIA", family: "Neoverse V2", isa: "aarch64", unit: "core", kind: CPU, warp: 4, rates: rates{FP64: 16, FP32: 32}, ratesFrom: graceDoc, l1: 64 * kib}
	neoverseV1  = &arch{vendor: "AWS", family: "Neoverse V1", isa: "aarch64", unit: "core", kind: CPU, warp: 8, rates: rates{FP64: 16, FP32: 32}, ratesFrom: v1Doc, l1: 64 * kib}
	power9      = &arch{vendor: "IBM", family: "POWER9", isa: "ppc64le", unit: "core", kind: CPU, warp: 4, rates: rates{FP64: 8, FP32: 16}, ratesFrom: power9Doc, l1: 32 * kib}
)

func amx(a arch) *arch {
	a.ratesFrom += "; matrices: " + intelAMX
	return a.with(rates{FP16: 128, TensorBF16: 1024, TensorINT8: 2048})
}

// cpu is a row of a CPU: one socket with its cores, base and highest turbo
// clock in MHz, channels of 64 bits x MT/s, caches (L2 of a core in KiB, L3
// of the socket in MiB) and TDP in W.
func cpu(name string, a *arch, cores, base, turbo int, channels, mts float64, l2, l3 int64, watt float64, from string) row {
	return row{name: name, arch: a, units: cores, base: float64(base), boost: float64(turbo), bus: channels * 64, gbps: mts / 1000, l2: int64(cores) * l2 * kib, l3: l3 * kib, watt: watt, from: from}
}

// cpus are CPUs, a socket each. Names are those of /proc/cpuinfo without what
// Find drops.
var cpus = []row{
	cpu("Intel Core i5-2400", sandyBridge, 4, 3100, 3400, 2, 1333, 256, 6*kib, 95, ark).prints(21.3),
	cpu("Intel Core i7-4870HQ", haswell, 4, 2500, 3700, 2, 1600, 256, 6*kib, 47, ark).prints(25.6),
	cpu("Intel Xeon E5-2698 v3", haswell, 16, 2300, 3600, 4, 2133, 256, 40*kib, 135, ark).prints(68),
	cpu("Intel Xeon E5-2680 v4", broadwell, 14, 2400, 3300, 4, 2400, 256, 35*kib, 120, ark).prints(76.8),
	cpu("Intel Xeon E5-2690 v4", broadwell, 14, 2600, 3500, 4, 2400, 256, 35*kib, 135, ark).prints(76.8),
	cpu("Intel Xeon E5-2695 v4", broadwell, 18, 2100, 3300, 4, 2400, 256, 45*kib, 120, ark).prints(76.8),
	cpu("Intel Xeon E5-2698 v4", broadwell, 20, 2200, 3600, 4, 2400, 256, 50*kib, 135, ark).prints(76.8),
	cpu("Intel Xeon E5-2699 v4", broadwell, 22, 2200, 3600, 4, 2400, 256, 55*kib, 145, ark).prints(76.8),
	cpu("Intel Xeon E3-1245 v5", skylake, 4, 3500, 3900, 2, 2133, 256, 8*kib, 80, ark).prints(34.1),
	cpu("Intel Core i7-6700K", skylake, 4, 4000, 4200, 2, 2133, 256, 8*kib, 91, ark).prints(34.1),
	cpu("Intel Core i7-8700K", skylake, 6, 3700, 4700, 2, 2666, 256, 12*kib, 95, ark).prints(41.6),
	cpu("Intel Core i9-9900K", skylake, 8, 3600, 5000, 2, 2666, 256, 16*kib, 95, ark).prints(41.6),

	cpu("Intel Xeon Gold 6148", skylakeSP, 20, 2400, 3700, 6, 2666, 1024, 28160, 150, ark),
	cpu("Intel Xeon Platinum 8160", skylakeSP, 24, 2100, 3700, 6, 2666, 1024, 33*kib, 150, ark),
	cpu("Intel Xeon Platinum 8168", skylakeSP, 24, 2700, 3700, 6, 2666, 1024, 33*kib, 205, ark),
	cpu("Intel Xeon Platinum 8180", skylakeSP, 28, 2500, 3800, 6, 2666, 1024, 39424, 205, ark),
	cpu("Intel Xeon Gold 6240", cascadeLake, 18, 2600, 3900, 6, 2933, 1024, 25344, 150, ark),
	cpu("Intel Xeon Gold 6248", cascadeLake, 20, 2500, 3900, 6, 2933, 1024, 28160, 150, ark),
	cpu("Intel Xeon Platinum 8260", cascadeLake, 24, 2400, 3900, 6, 2933, 1024, 36608, 165, ark),
	cpu("Intel Xeon Platinum 8268", cascadeLake, 24, 2900, 3900, 6, 2933, 1024, 36608, 205, ark),
	cpu("Intel Xeon Platinum 8276", cascadeLake, 28, 2200, 4000, 6, 2933, 1024, 39424, 165, ark),
	cpu("Intel Xeon Platinum 8280", cascadeLake, 28, 2700, 4000, 6, 2933, 1024, 39424, 205, ark),
	cpu("Intel Xeon Gold 6330", iceLakeSP, 28, 2000, 3100, 8, 2933, 1280, 42*kib, 205, ark),
	cpu("Intel Xeon Gold 6338", iceLakeSP, 32, 2000, 3200, 8, 3200, 1280, 48*kib, 205, ark),
	cpu("Intel Xeon Gold 6348", iceLakeSP, 28, 2600, 3500, 8, 3200, 1280, 42*kib, 235, ark),
	cpu("Intel Xeon Platinum 8358", iceLakeSP, 32, 2600, 3400, 8, 3200, 1280, 48*kib, 250, ark),
	cpu("Intel Xeon Platinum 8360Y", iceLakeSP, 36, 2400, 3500, 8, 3200, 1280, 54*kib, 250, ark),
	cpu("Intel Xeon Platinum 8368", iceLakeSP, 38, 2400, 3400, 8, 3200, 1280, 57*kib, 270, ark),
	cpu("Intel Xeon Platinum 8380", iceLakeSP, 40, 2300, 3400, 8, 3200, 1280, 60*kib, 270, ark),
	cpu("Intel Xeon Gold 6430", sapphire, 32, 2100, 3400, 8, 4400, 2048, 60*kib, 270, ark),
	cpu("Intel Xeon Platinum 8462Y+", sapphire, 32, 2800, 4100, 8, 4800, 2048, 60*kib, 300, ark),
	cpu("Intel Xeon Platinum 8468", sapphire, 48, 2100, 3800, 8, 4800, 2048, 105*kib, 350, ark),
	cpu("Intel Xeon Platinum 8470", sapphire, 52, 2000, 3800, 8, 4800, 2048, 105*kib, 350, ark),
	cpu("Intel Xeon Platinum 8480+", sapphire, 56, 2000, 3800, 8, 4800, 2048, 105*kib, 350, ark),
	cpu("Intel Xeon Platinum 8490H", sapphire, 60, 1900, 3500, 8, 4800, 2048, 115200, 350, ark),
	cpu("Intel Xeon Gold 6530", emerald, 32, 2100, 4000, 8, 4800, 2048, 160*kib, 270, ark),
	cpu("Intel Xeon Platinum 8558", emerald, 48, 2100, 4000, 8, 5200, 2048, 260*kib, 330, ark),
	cpu("Intel Xeon Platinum 8568Y+", emerald, 48, 2300, 4000, 8, 5600, 2048, 300*kib, 350, ark),
	cpu("Intel Xeon Platinum 8592+", emerald, 64, 1900, 3900, 8, 5600, 2048, 320*kib, 350, ark),

	cpu("AMD EPYC 7302", zen2, 16, 3000, 3300, 8, 3200, 512, 128*kib, 155, amdPage).prints(204.8),
	cpu("AMD EPYC 7402", zen2, 24, 2800, 3350, 8, 3200, 512, 128*kib, 180, amdPage).prints(204.8),
	cpu("AMD EPYC 7452", zen2, 32, 2350, 3350, 8, 3200, 512, 128*kib, 155, amdPage).prints(204.8),
	cpu("AMD EPYC 7502", zen2, 32, 2500, 3350, 8, 3200, 512, 128*kib, 180, amdPage).prints(204.8),
	cpu("AMD EPYC 7542", zen2, 32, 2900, 3400, 8, 3200, 512, 128*kib, 225, amdPage).prints(204.8),
	cpu("AMD EPYC 7702", zen2, 64, 2000, 3350, 8, 3200, 512, 256*kib, 200, amdPage).prints(204.8),
	cpu("AMD EPYC 7742", zen2, 64, 2250, 3400, 8, 3200, 512, 256*kib, 225, amdPage).prints(204.8),
	cpu("AMD EPYC 7H12", zen2, 64, 2600, 3300, 8, 3200, 512, 256*kib, 280, amdPage).prints(204.8),
	cpu("AMD EPYC 7443", zen3, 24, 2850, 4000, 8, 3200, 512, 128*kib, 200, amdPage).prints(204.8),
	cpu("AMD EPYC 7513", zen3, 32, 2600, 3650, 8, 3200, 512, 128*kib, 200, amdPage).prints(204.8),
	cpu("AMD EPYC 7543", zen3, 32, 2800, 3700, 8, 3200, 512, 256*kib, 225, amdPage).prints(204.8),
	cpu("AMD EPYC 7643", zen3, 48, 2300, 3600, 8, 3200, 512, 256*kib, 225, amdPage).prints(204.8),
	cpu("AMD EPYC 7663", zen3, 56, 2000, 3500, 8, 3200, 512, 256*kib, 240, amdPage).prints(204.8),
	cpu("AMD EPYC 7713", zen3, 64, 2000, 3675, 8, 3200, 512, 256*kib, 225, amdPage).prints(204.8),
	cpu("AMD EPYC 7763", zen3, 64, 2450, 3500, 8, 3200, 512, 256*kib, 280, amdPage).prints(204.8),
	cpu("AMD EPYC 7773X", zen3, 64, 2200, 3500, 8, 3200, 512, 768*kib, 280, amdPage).prints(204.8),
	cpu("AMD EPYC 7V13", zen3, 64, 2440, 0, 8, 3200, 512, 0, 0, azure7V13),
	cpu("AMD EPYC 9354", zen4, 32, 3250, 3800, 12, 4800, 1024, 256*kib, 280, amdPage).prints(460.8),
	cpu("AMD EPYC 9454", zen4, 48, 2750, 3800, 12, 4800, 1024, 256*kib, 290, amdPage).prints(460.8),
	cpu("AMD EPYC 9554", zen4, 64, 3100, 3750, 12, 4800, 1024, 256*kib, 360, amdPage).prints(460.8),
	cpu("AMD EPYC 9654", zen4, 96, 2400, 3700, 12, 4800, 1024, 384*kib, 360, amdPage).prints(460.8),
	cpu("AMD EPYC 9684X", zen4, 96, 2550, 3700, 12, 4800, 1024, 1152*kib, 400, amdPage).prints(460.8),
	cpu("AMD EPYC 9754", zen4, 128, 2250, 3100, 12, 4800, 1024, 256*kib, 360, amdPage).prints(460.8),
	cpu("AMD EPYC 9575F", zen5, 64, 3300, 5000, 12, 6400, 1024, 256*kib, 400, amdPage).prints(614),
	cpu("AMD EPYC 9655", zen5, 96, 2600, 4500, 12, 6400, 1024, 384*kib, 400, amdPage).prints(614),
	cpu("AMD EPYC 9755", zen5, 128, 2700, 4100, 12, 6400, 1024, 512*kib, 500, amdPage).prints(614),
	cpu("AMD EPYC 9965", zen5, 192, 2250, 3700, 12, 6400, 1024, 384*kib, 500, amdPage).prints(614),
	cpu("AMD Ryzen 9 3900X", zen2, 12, 3800, 4600, 2, 3200, 512, 64*kib, 105, amdPage),
	cpu("AMD Ryzen 9 5950X", zen3, 16, 3400, 4900, 2, 3200, 512, 64*kib, 105, amdPage),
	cpu("AMD Ryzen 9 7950X", zen4, 16, 4500, 5700, 2, 5200, 1024, 64*kib, 170, amdPage),
	cpu("AMD Ryzen 9 9950X", zen5, 16, 4300, 5700, 2, 5600, 1024, 64*kib, 170, amdPage),
	cpu("AMD Ryzen Threadripper 3990X", zen2, 64, 2900, 4300, 4, 3200, 512, 256*kib, 280, amdPage),

	{name: "Fujitsu A64FX (2.2 GHz)", also: []string{"A64FX FX1000", "A64FX Fugaku"}, arch: a64fx, units: 48, base: 2200, bus: 4096, gbps: 2, gib: 32, l2: 32 * mib, l2clk: 4 * 512, from: a64fxDoc,
		printed: rates{FP64: 3.3792}, gbs: bytes{DRAM: 1024}},
	{name: "Fujitsu A64FX (1.8 GHz)", also: []string{"A64FX FX700"}, arch: a64fx, units: 48, base: 1800, bus: 4096, gbps: 2, gib: 32, l2: 32 * mib, l2clk: 4 * 512, from: a64fxDoc,
		printed: rates{FP64: 2.7648}, gbs: bytes{DRAM: 1024}},
	{name: "NVIDIA Grace CPU", arch: grace, units: 72, base: 3100, l2: 72 * mib, l3: 114 * mib, from: graceDoc,
		printed: rates{FP64: 7.1 / 2}},
	{name: "AWS Graviton3", arch: neoverseV1, units: 64, bus: 8 * 64, gbps: 4.8, from: graviton3},
	{name: "IBM POWER9 (Summit)", arch: power9, units: 22, base: 3070, bus: 8 * 64, gbps: 2.666, from: power9Doc, note: "cores and clock of Summit's; other models of POWER9 differ",
		gbs: bytes{DRAM: 170}},
}

// prints adds the printed bandwidth of the memory in GB/s.
func (r row) prints(gbs float64) row {
	r.gbs = bytes{DRAM: gbs}
	return r
}
