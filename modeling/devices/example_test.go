package devices_test

import (
	"fmt"

	"github.com/rooflab/rooflab/modeling/devices"
)

func Example() {
	d, err := devices.Find("NVIDIA A100-SXM4-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	peak, _ := d.Peak(devices.FP64)
	dram, _ := d.Bandwidth(devices.DRAM)
	fmt.Printf("%.2f TFLOP/s (%s)\n", peak.Value/1e12, peak.How)
	fmt.Printf("%.0f GB/s (%s)\n", dram.Value/1e9, dram.How)
	fmt.Printf("balanced at %.2f flop/byte\n", peak.Value/dram.Value)

	// The same device at the clock that a profiler held it at.
	peak, _ = d.At(1.095e9).Peak(devices.FP64)
	fmt.Printf("%.2f TFLOP/s (%s)\n", peak.Value/1e12, peak.How)

	_, err = devices.Find("V100 SXM2")
	fmt.Println(err)
	// Output:
	// 9.75 TFLOP/s (108 SM x 64 per clock x 1410 MHz)
	// 1555 GB/s (5120 bit x 2.43 Gbit/s)
	// balanced at 6.27 flop/byte
	// 7.57 TFLOP/s (108 SM x 64 per clock x 1095 MHz)
	// "V100 SXM2" fits several devices of the table, Tesla V100-SXM2-16GB, Tesla V100-SXM2-32GB: say more of the name, the number of units or the memory
}
