package registry

// github is where files of a repository at a commit are fetched.
const github = "https://raw.githubusercontent.com/"

func init() {
	for _, s := range published {
		Register(s)
	}
}

// published are data sets that others measured and released. The sums are of
// the files at the named commits.
var published = []Set{
	{
		Name:     "deeptune-devmap",
		About:    "680 OpenCL kernels with source and run times on a CPU and an NVIDIA GPU",
		Licence:  "GPL-3.0",
		Note:     "for evaluation: its licence keeps it from being part of other software; the table names no unit for its run times",
		Page:     "https://github.com/ChrisCummins/paper-end2end-dl/tree/df6fa690",
		Citation: "Cummins, Petoumenos, Wang, Leather: End-to-End Deep Learning of Optimization Heuristics, PACT 2017",
		Files: []File{
			{Name: "cgo17-nvidia.csv", SHA256: "095c1ccef333e0a65e0e70b3ebde0aef851b61528ec46496a5d1687905abd099", Bytes: 2147529},
		},
	},
	{
		Name:     "gpuflopbench",
		About:    "3,436 launches of HeCBench CUDA kernels on an RTX 3080: time, traffic, single, double and integer work; the sources of 863 of them",
		Licence:  "MIT, sources BSD-3-Clause",
		Note:     "traffic is bytes per second: with intops and intAI it is the time",
		Page:     "https://github.com/Scientific-Computing-Lab/gpuFLOPBench",
		Citation: "Bolet et al.: Counting Without Running: Evaluating LLMs on Predicting FLOPs of CUDA Kernels, 2025",
		Files: []File{
			{Name: "profiling-data.csv", URL: github + "Scientific-Computing-Lab/gpuFLOPBench/4738733b337e9455edea5e7172886a08830eee34/cuda-profiling/profiling-data.csv", SHA256: "3e43a7cbeee73edf41ef1d6029b05b2e7042832c616e5ef441c84c3eef34b2af", Bytes: 1064370},
			{Name: "extracted_CUDA_kernels.json", URL: github + "Scientific-Computing-Lab/gpuFLOPBench/4738733b337e9455edea5e7172886a08830eee34/source-scraping/extracted_CUDA_kernels.json", SHA256: "2a0440fc8d3765812d8be01457243913a777535d51d7f78f1c46c6cb92e7232d", Bytes: 3443137},
		},
	},
	{
		Name:     "kernel-tuner",
		About:    "15 configurations of a vector addition with time, energy, clock and temperature on an RTX 4000 Ada",
		Licence:  "Apache-2.0",
		Note:     "the file is left open at its end, as Kernel Tuner leaves it while it runs",
		Page:     "https://github.com/KernelTuner/kernel_tuner",
		Citation: "van Werkhoven: Kernel Tuner: A search-optimizing GPU code auto-tuner, FGCS 90, 2019",
		Files: []File{
			{Name: "time_energy.json", URL: github + "KernelTuner/kernel_tuner/96a6abc1/test/strategies/test_cache_time_energy.json", SHA256: "61a5f8bb52c1bc0d28b373f8b4055135df5179534a39e703c93e48ac047522ef", Bytes: 16482},
		},
	},
	{
		Name:     "kernel-tuner-hub",
		About:    "whole tuning spaces of a convolution (4,362 configurations) and a dedispersion (11,130) on up to four GPUs, all repeats kept",
		Licence:  "MIT",
		Page:     "https://github.com/AutoTuningAssociation/benchmark_hub",
		Citation: "Toerring et al.: Towards a Benchmarking Suite for Kernel Tuners, 2023",
		Files: []File{
			{Name: "convolution_milo-A100.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/convolution_milo/A100.json.gz", SHA256: "de449bddefb42721a9c92d63b0984caeb04cc48519d58135a487e832f8196b9d", Bytes: 857930},
			{Name: "convolution_milo-A4000.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/convolution_milo/A4000.json.gz", SHA256: "fd773e882875902173ed50a7f9db6a28260ea25b87cf26211a7c627b94c0b8e8", Bytes: 993833},
			{Name: "convolution_milo-A6000.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/convolution_milo/A6000.json.gz", SHA256: "e0992a3baa24e0280f1706319145d473933157ef554df094a4357e435cb0de53", Bytes: 1082942},
			{Name: "convolution_milo-W6600.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/convolution_milo/W6600.json.gz", SHA256: "de31e4d1b2f85ee4447123e237e69263667046a8f9b95b3440074aa5412fc6ff", Bytes: 1404207},
			{Name: "dedispersion_milo-A100.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/dedispersion_milo/A100.json.gz", SHA256: "156253bd3ba2d956496bae6cb57a8601883b9820b50ad5b1b90f02ac4f8ce5fd", Bytes: 3116539},
			{Name: "dedispersion_milo-A4000.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/dedispersion_milo/A4000.json.gz", SHA256: "657e9de1ba7a029324c71a62d13e1dd06a8ae5311af0255c15a086d0bbad6044", Bytes: 3262179},
			{Name: "dedispersion_milo-W6600.json.gz", URL: github + "AutoTuningAssociation/benchmark_hub/8eeb99e7179e6838af95d392ac6c60cebfd8c434/cachefiles/dedispersion_milo/W6600.json.gz", SHA256: "5d10249dbf24d1b60925d03013a7f1da9200a35578a140490dd61d5b4444f64f", Bytes: 3309942},
		},
	},
	{
		Name:     "ktt-coulomb",
		About:    "210 configurations of a Coulomb summation, 8 parameters, 33 counters each, on an RTX 2080",
		Licence:  "MIT",
		Page:     "https://github.com/HiPerCoRe/KTT/tree/931c4157/Examples/CoulombSum3d",
		Citation: "Petrovic et al.: Kernel Tuning Toolkit, SoftwareX 22, 2023",
		Files: []File{
			{Name: "coulomb_2080_full_search_space.json", URL: github + "HiPerCoRe/KTT/931c4157/Examples/CoulombSum3d/coulomb_2080_full_search_space.json", SHA256: "f79571b9be2c24cc8ea86cc69d9827a5399fdd9e5e4bcb06ad051044962a5416", Bytes: 1664308},
		},
	},
	{
		Name:     "neusight",
		About:    "22,781 measurements of matrix products, linear layers, layer norms and softmaxes on 8 GPUs, with the peaks of 9",
		Licence:  "MIT",
		Note:     "latencies are in milliseconds",
		Page:     "https://github.com/sitar-lab/NeuSight",
		Citation: "Lee, Phanishayee, Mahajan: Forecasting GPU Performance for Deep Learning Training and Inference, ASPLOS 2025",
		Files: []File{
			{Name: "bmm.csv", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/dataset/test/bmm.csv", SHA256: "04b8bb17c64eeab83bf5f74c88b727808994ecf436b995bea2c015c6065a6206", Bytes: 2612152},
			{Name: "linear.csv", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/dataset/test/linear.csv", SHA256: "8fd84cd9036300b897efb8ae6955bce6854358dcfa8659b8f178ac88748708fd", Bytes: 1508473},
			{Name: "ln.csv", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/dataset/test/ln.csv", SHA256: "1910fb5a02d56a6e79e5ac918174e40519355f2117ce0344d6fba0fcac64a30a", Bytes: 143461},
			{Name: "softmax.csv", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/dataset/test/softmax.csv", SHA256: "c761a5014c8749342eeb1fbf16732c939516baf7180874cc2ae49b3e1dea062e", Bytes: 149523},
			{Name: "device_configs/NVIDIA_A100-PCIE-40GB.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/NVIDIA_A100-PCIE-40GB.json", SHA256: "0b0c13b0693c0a14a008c6658d597f4d4d14f634f2ad037191b4394e24a46c15", Bytes: 177},
			{Name: "device_configs/NVIDIA_A100-SXM4-40GB.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/NVIDIA_A100-SXM4-40GB.json", SHA256: "422c44815a787305b945191c0c439543592837b5ea78ee1eda62b5b09902d705", Bytes: 177},
			{Name: "device_configs/NVIDIA_A100_80GB_PCIe.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/NVIDIA_A100_80GB_PCIe.json", SHA256: "769bb5c6b16b0238e62bdcb2730634e75a8b05168f924a8950ba564deccee80c", Bytes: 177},
			{Name: "device_configs/NVIDIA_H100_80GB_HBM3.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/NVIDIA_H100_80GB_HBM3.json", SHA256: "dc8a865aef7cdaf2368bbc770883e2489c253ef99d4fb166dfdbcf7f09b3870b", Bytes: 178},
			{Name: "device_configs/NVIDIA_L4.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/NVIDIA_L4.json", SHA256: "820727dd9ae175e5961919aecd1eb74045624a46478de6cfc86d3d07f39d36c1", Bytes: 164},
			{Name: "device_configs/Tesla_P100-PCIE-16GB.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/Tesla_P100-PCIE-16GB.json", SHA256: "3de42b11ac062af2b6cdeccbd4c66e1656e430c75ae8565187d8e73914133729", Bytes: 172},
			{Name: "device_configs/Tesla_P4.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/Tesla_P4.json", SHA256: "ae37b2de866fd4db160d807d9d66e6e514321067305f64d11508c2529a53edf1", Bytes: 159},
			{Name: "device_configs/Tesla_T4.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/Tesla_T4.json", SHA256: "9371ddb7e3210fbad173da00e1a12790957853c866a18083a32317d1e7e42c0a", Bytes: 160},
			{Name: "device_configs/Tesla_V100-PCIE-32GB.json", URL: github + "sitar-lab/NeuSight/6945927d/scripts/asplos/data/device_configs/Tesla_V100-PCIE-32GB.json", SHA256: "8c5a4c8ca4243e4b2c94a79f30544af1bc1ffdf6728fd8bbf162d8722ed67c5f", Bytes: 173},
		},
	},
	{
		Name:     "robust-kbench",
		About:    "12 CUDA kernels that agents wrote: source, run time, speedup, profiles, feedback, cost",
		Licence:  "Apache-2.0",
		Page:     "https://github.com/SakanaAI/robust-kbench/tree/078f5bab",
		Citation: "Lange et al.: Towards Robust Agentic CUDA Kernel Benchmarking, Verification, and Optimization, 2025",
		Files: []File{
			{Name: "results.csv", SHA256: "ee7964c7e5b20fea37d527aa7c3a54cb36c91b9e29209e45a8cde3e81563173a", Bytes: 623061},
		},
	},
}
