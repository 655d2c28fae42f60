package pjrt

import "runtime"

// Wheel is a file of a Python package index, pinned: what has another checksum
// is not installed.
type Wheel struct {
	Name, Version string
	File          string // name of the file, as the index lists it
	SHA256        string
	Size          int64 // bytes
}

// Bundle is a plugin with what it needs to run.
type Bundle struct {
	Name     string // "cpu", "cuda13", "cuda12"
	Platform string // GOOS/GOARCH that it is for
	CUDA     int    // major version of CUDA, 0 for a plugin that needs none
	// Plugin is the path of the plugin in the first wheel; of the others, and of
	// that one when CUDA is set, the folder nvidia/ is installed.
	Plugin       string
	PluginSHA256 string // "" where the wheel's checksum must do
	Wheels       []Wheel
}

// Size is how many bytes a download of everything has.
func (b Bundle) Size() (n int64) {
	for _, w := range b.Wheels {
		n += w.Size
	}
	return n
}

// CPU is XLA's CPU plugin as built for jaxlib 0.11.2 (PJRT C API 0.115), under
// Apache-2.0, with its licence and notices in the wheel. go-xla 0.4.1 speaks
// API 0.104 and trains on it as on its own.
var CPU = Bundle{
	Name: "cpu", Platform: "linux/amd64",
	Plugin:       "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
	PluginSHA256: "ad1309ac822b1b24d51b7f9947c7c9fa9ef5d67f390584cbc3d1fa2428fed9c2",
	Wheels: []Wheel{{
		"lammps-jax-pjrt-cpu", "0.11.2", "lammps_jax_pjrt_cpu-0.11.2-py3-none-manylinux_2_27_x86_64.whl",
		"1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1", 62711338,
	}},
}

// CUDA13 and CUDA12 are JAX's plugins for NVIDIA GPUs of the same release as
// CPU, with the libraries that jax-cuda13-plugin 0.11.2 and jax-cuda12-plugin
// 0.11.2 require (their extra with-cuda), of the CUDA releases 13.0.2 and
// 12.9.1, which the oldest drivers of Driver's table run.
var (
	CUDA13 = Bundle{
		Name: "cuda13", Platform: "linux/amd64", CUDA: 13,
		Plugin:       "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
		PluginSHA256: "43d3efd6fd43d8a5d9aa67176e830d81e4ad5fc19fda4ad09cdcc4aebd9f3920",
		Wheels: []Wheel{
			{"jax-cuda13-pjrt", "0.11.2", "jax_cuda13_pjrt-0.11.2-py3-none-manylinux_2_27_x86_64.whl",
				"e5ff589d43064913bb74027682d89639c7ea48f9f81c2bae6fc75117e913f93e", 134162640},
			{"nvidia-cublas", "13.1.0.3", "nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl",
				"ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171", 423133236},
			{"nvidia-cuda-cupti", "13.0.85", "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
				"4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8", 10715597},
			{"nvidia-cuda-nvcc", "13.0.88", "nvidia_cuda_nvcc-13.0.88-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03", 37384532},
			{"nvidia-cuda-runtime", "13.0.96", "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548", 2243632},
			{"nvidia-cufft", "12.0.0.61", "nvidia_cufft-12.0.0.61-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3", 214085489},
			{"nvidia-cusolver", "12.0.4.66", "nvidia_cusolver-12.0.4.66-py3-none-manylinux_2_27_x86_64.whl",
				"0a759da5dea5c0ea10fd307de75cdeb59e7ea4fcb8add0924859b944babf1112", 200941980},
			{"nvidia-cusparse", "12.6.3.3", "nvidia_cusparse-12.6.3.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b", 145942937},
			{"nvidia-nvjitlink", "13.0.88", "nvidia_nvjitlink-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
				"13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b", 40713933},
			{"nvidia-cuda-nvrtc", "13.0.88", "nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
				"ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575", 90215200},
			{"nvidia-nvvm", "13.0.88", "nvidia_nvvm-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
				"c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0", 61601415},
			{"nvidia-cudnn-cu13", "9.15.1.9", "nvidia_cudnn_cu13-9.15.1.9-py3-none-manylinux_2_27_x86_64.whl",
				"ebc9a647918df0d7298d67cfaf41579fd4c78ead9aba246f5ad9414d61b9ec4c", 351298418},
			{"nvidia-nccl-cu13", "2.27.7", "nvidia_nccl_cu13-2.27.7-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"b28a524abd8389b76a4a3f133c76a7aaa7005e47fcaa9d9603b90103927a3f93", 193901479},
			{"nvidia-nvshmem-cu13", "3.4.5", "nvidia_nvshmem_cu13-3.4.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80", 60412546},
		},
	}
	CUDA12 = Bundle{
		Name: "cuda12", Platform: "linux/amd64", CUDA: 12,
		Plugin:       "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
		PluginSHA256: "ed4d60d77427548709ca0b5a8e04c1b24cc0091452bb564e4aea01e03ae7eac1",
		Wheels: []Wheel{
			{"jax-cuda12-pjrt", "0.11.2", "jax_cuda12_pjrt-0.11.2-py3-none-manylinux_2_27_x86_64.whl",
				"2133b3afc63307c016ae4980f166b2b3de199759363ead74f7d550eaae953463", 188235313},
			{"nvidia-cublas-cu12", "12.9.1.4", "nvidia_cublas_cu12-12.9.1.4-py3-none-manylinux_2_27_x86_64.whl",
				"453611eb21a7c1f2c2156ed9f3a45b691deda0440ec550860290dc901af5b4c2", 581242350},
			{"nvidia-cuda-cupti-cu12", "12.9.79", "nvidia_cuda_cupti_cu12-12.9.79-py3-none-manylinux_2_25_x86_64.whl",
				"096bcf334f13e1984ba36685ad4c1d6347db214de03dbb6eebb237b41d9d934f", 10814997},
			{"nvidia-cuda-nvcc-cu12", "12.9.86", "nvidia_cuda_nvcc_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
				"5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0", 40546229},
			{"nvidia-cuda-runtime-cu12", "12.9.79", "nvidia_cuda_runtime_cu12-12.9.79-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3", 3493179},
			{"nvidia-cufft-cu12", "11.4.1.4", "nvidia_cufft_cu12-11.4.1.4-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28", 200877592},
			{"nvidia-cusolver-cu12", "11.7.5.82", "nvidia_cusolver_cu12-11.7.5.82-py3-none-manylinux_2_27_x86_64.whl",
				"15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88", 338117415},
			{"nvidia-cusparse-cu12", "12.5.10.65", "nvidia_cusparse_cu12-12.5.10.65-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78", 366465088},
			{"nvidia-nvjitlink-cu12", "12.9.86", "nvidia_nvjitlink_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
				"e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9", 39748338},
			{"nvidia-cuda-nvrtc-cu12", "12.9.86", "nvidia_cuda_nvrtc_cu12-12.9.86-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
				"210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4", 89568129},
			{"nvidia-cudnn-cu12", "9.15.1.9", "nvidia_cudnn_cu12-9.15.1.9-py3-none-manylinux_2_27_x86_64.whl",
				"343d9b4bdba9df2f4acf5e8d8582fd40b66ee65fa5cff7702d58ebdc0c077dfa", 647660669},
			{"nvidia-nccl-cu12", "2.27.7", "nvidia_nccl_cu12-2.27.7-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"de5ba5562f08029a19cb1cd659404b18411ed0d6c90ac5f52f30bf99ad5809aa", 322546339},
			{"nvidia-nvshmem-cu12", "3.4.5", "nvidia_nvshmem_cu12-3.4.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
				"042f2500f24c021db8a06c5eec2539027d57460e1c1a762055a6554f72c369bd", 139103095},
		},
	}
)

// here is this program's platform.
func here() string { return runtime.GOOS + "/" + runtime.GOARCH }
