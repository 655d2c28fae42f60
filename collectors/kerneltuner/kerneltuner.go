// Package kerneltuner reads what auto-tuners of GPU kernels found: Kernel
// Tuner's cache files (complete, or left open because the tuning went on or
// was killed), results in the T4 schema (Kernel Tuner, KTT and others write
// it) and the description of a tuning problem in the T1 schema.
//
// In flows JSON, out flows one run with:
//
//	machine    the device
//	region     the kernel, kind "kernel"; T4 does not name it
//	launch     one per configuration, in the order of the file: tool id is the
//	           cache's key, block the parameters block_size_x, _y, _z, and
//	           dur_ns the mean time that the tuner took for the configuration's
//	attribute  of a launch: every tuning parameter by its own name, invalidity
//	           (below), timestamp; of the run: objective, problem_size,
//	           tune_params_keys and tune_params.NAME, the values tried
//	counter    of a launch: every other number by its name. time is the mean,
//	           times (in T4 runtimes) has every repeat as an instance "0", "1"...
//
// A configuration that could not be built or run has no time: its counter has
// the status "na" and its raw value is the error. The attribute invalidity is
// "correct" for a good one, else T4's words: "compile", "runtime",
// "constraints", "correctness", "timeout". Older caches say 1e20 instead of
// the error, which becomes invalidity "unknown".
//
// A table with a column per parameter, as models need it:
//
//	SELECT p.*, t.value AS seconds FROM
//	  (PIVOT (SELECT launch_id, name, value FROM attribute WHERE launch_id IS NOT NULL)
//	   ON name USING any_value(value) GROUP BY launch_id) p
//	JOIN counter t ON t.launch_id = p.launch_id AND t.metric = 'time'
//	WHERE p.invalidity = 'correct' AND p.block_size_x::INT = 64
//
// Kernel Tuner's times are milliseconds; numbers whose unit neither the file
// nor Kernel Tuner's documentation tells are kept without one.
package kerneltuner

import (
	"bytes"

	"github.com/rooflab/rooflab/collectors"
)

const (
	formatCache = "kernel-tuner-cache"
	formatT4    = "kernel-tuner-t4"
	formatT1    = "kernel-tuner-t1"
)

func init() {
	collectors.Register(collectors.Format{Name: formatCache, About: "Kernel Tuner, cache file", Version: 1, Detect: detectCache, Parse: parseCache})
	collectors.Register(collectors.Format{Name: formatT4, About: "auto-tuning results, T4 schema (Kernel Tuner, KTT)", Version: 1, Detect: detectT4, Parse: parseT4})
	collectors.Register(collectors.Format{Name: formatT1, About: "auto-tuning problem, T1 schema (Kernel Tuner)", Version: 1, Detect: detectT1, Parse: parseT1})
}

// object says whether the file begins with a JSON object.
func object(h collectors.Head) bool {
	return bytes.HasPrefix(bytes.TrimLeft(h.Bytes, " \t\r\n"), []byte("{"))
}

// has counts how many of some keys are in the file's beginning.
func has(h collectors.Head, keys ...string) int {
	n := 0
	for _, k := range keys {
		if hasKey(h.Bytes, `"`+k+`"`) {
			n++
		}
	}
	return n
}

// hasKey looks for a quoted text before a colon.
func hasKey(b []byte, quoted string) bool {
	for {
		i := bytes.Index(b, []byte(quoted))
		if i < 0 {
			return false
		}
		b = b[i+len(quoted):]
		if bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte(":")) {
			return true
		}
	}
}

func detectCache(h collectors.Head) collectors.Confidence {
	if !object(h) {
		return collectors.No
	}
	switch n := has(h, "tune_params_keys", "tune_params", "device_name", "kernel_name", "cache"); {
	case n >= 3:
		return collectors.Certain
	case has(h, "cache") == 1 && has(h, "time", "compile_time", "framework_time", "strategy_time", "timestamp") >= 3:
		return collectors.Likely // keys in alphabetical order: the others come last
	}
	return collectors.No
}

func detectT4(h collectors.Head) collectors.Confidence {
	if object(h) && has(h, "results", "configuration") == 2 && has(h, "invalidity", "correctness", "measurements", "objectives", "times") >= 2 {
		return collectors.Certain
	}
	return collectors.No
}

func detectT1(h collectors.Head) collectors.Confidence {
	if !object(h) || has(h, "results") > 0 {
		return collectors.No
	}
	switch n := has(h, "ConfigurationSpace", "TuningParameters", "KernelSpecification"); {
	case n >= 2:
		return collectors.Certain
	case n == 1 && has(h, "General", "KernelFile", "BenchmarkName") >= 1:
		return collectors.Likely
	}
	return collectors.No
}
