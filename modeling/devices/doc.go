// Package devices is the built-in table of devices: what GPUs and CPUs can do
// in theory, each figure with the document that it comes from.
//
// In flows a name as a profile spells it (Find), what a profile tells of its
// device (Match), or a run of a store (FromStore). Out flow Devices with peak
// rates, bandwidths and what occupancy depends on, and, for a run, Ceilings of
// three kinds that are kept apart: measured there, stated by the profile, and
// theoretical by this table. What no document tells is unknown: a false, an
// absent Null, a NaN of a dataframe, never 0.
//
// # How the table is made
//
// A device is a chip with a number of units (streaming multiprocessors,
// compute units, Xe cores, or cores of a CPU), each of which does so many
// operations and moves so many bytes in a clock. A peak is computed:
//
//	peak = units x operations per unit and clock x clock
//
// so that it holds at the clock of a measurement too (Device.At). Beside it
// stands the figure that the vendor prints; the tests hold the two together
// within 1 %, or name the difference. Where the document prints a peak and
// neither the rate of a unit nor the clock behind it is known, the printed
// figure is the peak, at the vendor's clock alone.
//
//   - A multiply-add counts as two operations, for integers too.
//   - Matrix units: dense inputs (no structured sparsity), and accumulation in
//     FP32 (INT32 for INT8). GeForce cards are half as fast there as with
//     accumulation in FP16, which data sheets like to print.
//   - GPUs: at the boost clock, AMD's "peak engine clock". H100's matrix units
//     have a lower boost clock than the rest of the chip, as its white paper says.
//   - CPUs: one socket, at the base clock: turbo differs by model, by how many
//     cores work and by instruction set. Take At with the clock that was
//     measured.
//   - MI250 and MI250X: one GCD, half of the module, since that is a device to
//     ROCm and its profilers.
//   - L1 and shared memory: of all units together. L2 of a CPU: of all cores.
//     L1 of a CPU counts loads and stores together. Caches are taken to run at
//     the core clock; those of NVIDIA have a clock of their own near it.
//   - DRAM: bus width x data rate, whatever the core clock is.
package devices
