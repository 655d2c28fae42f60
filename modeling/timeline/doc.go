// Package timeline reads what a trace says about time on devices: when they
// were busy, when idle and why, what overlapped, and where they waited for the
// host.
//
// In flow runs of a store that hold traces (Nsight Systems, PyTorch and other
// trace events, rocprofv3): launches with start, duration, device and stream.
// Out flows a Timeline: per device a breakdown of its time, copies by
// direction, gaps, launch-bound stretches and streams, and Findings, each with
// its numbers, its rule and the rows that it rests on. A View is a bounded
// picture of a window, which package chart draws.
//
// The store sorts slabs of time, one after the other; one pass over their rows
// sweeps all devices at once. Memory grows with how much runs at the same time
// and with the number of names, not with the number of launches.
//
// What is counted:
//
//   - Work of a device is kernels (a CUDA graph that was traced as a whole is
//     one), copies and memsets. The device is idle where none of them runs, as
//     in Nsight Systems' rule gpu_gaps. Devices are kept apart by process, as
//     it does, and by rank.
//   - A window is from the first start to the last end of the device's work
//     (gpu_gaps again), or what Options.From and To say; what reaches over its
//     edges is cut.
//   - The window is shared out as in the temporal breakdown of Holistic Trace
//     Analysis (HTA): compute (a kernel that communicates not), non-compute,
//     here told apart as communication and copies that nothing hides, and idle.
//     What is hidden counts as compute.
//   - Overlap of communication and computation is HTA's: time in which both
//     run, over time in which communication runs. That of copies is the same
//     with all kernels.
//   - A gap is a maximal time in which the device is idle. Launches that take no
//     time do not end one; launches of unknown duration make one uncertain.
//   - Why there was a gap follows HTA's idle time breakdown, here for the
//     device as a whole: host wait, where the call that launched the work after the
//     gap began when the device had already run dry; kernel wait, where it began
//     before and the gap is shorter than Options.KernelWait; other, where it
//     began before and the gap is longer (waits for events and other streams); and
//     unknown, where the trace does not join the work with a call.
//   - A launch-bound stretch is Options.StretchLaunches or more launches in a
//     row, before each of which the device was idle, for Options.StretchGap
//     at most, and waited for the host. Where the call is unknown, a gap of at most
//     LaunchTime before a kernel that is no longer than the gap is taken for
//     such a wait, and the stretch is said to be an estimate.
//   - A short kernel is one that is shorter than the call that launched it (HTA's
//     kernel launch statistics).
package timeline
