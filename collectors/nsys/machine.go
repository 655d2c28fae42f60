package nsys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// meta reads how the capture was made. Of the environment variables, which
// hold people's keys and tokens, only a hash is kept.
func (e *export) meta() error {
	e.read["META_DATA_CAPTURE"] = true
	var env, args []string
	command := ""
	err := e.db.each(e.ctx, "META_DATA_CAPTURE", []string{"name", "value"}, "rowid", func(r *record) error {
		name, value := r.text("name"), r.text("value")
		switch {
		case strings.Contains(name, "ENVIRONMENT_VARIABLE"):
			env = append(env, value)
			return nil
		case name == "PROCESS_0:COMMAND":
			command = value
		case strings.HasPrefix(name, "PROCESS_0:ARGUMENT_"):
			args = append(args, value)
		}
		return e.attribute("capture."+name, value)
	})
	if err != nil {
		return err
	}
	e.run.Command = strings.Join(append([]string{command}, args...), " ")
	if len(env) > 0 {
		sort.Strings(env)
		sum := sha256.Sum256([]byte(strings.Join(env, "\x00")))
		e.run.EnvHash = hex.EncodeToString(sum[:])
	}
	e.read["TARGET_INFO_SESSION_START_TIME"] = true
	err = e.db.each(e.ctx, "TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, "", func(r *record) error {
		if n, ok := r.integer("utcEpochNs"); ok && n > 0 {
			e.run.Started = datasets.Some(time.Unix(0, n).UTC())
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.read["ANALYSIS_DETAILS"] = true
	return e.db.each(e.ctx, "ANALYSIS_DETAILS", []string{"duration", "startTime", "stopTime"}, "", func(r *record) error {
		for _, c := range [...]string{"duration", "startTime", "stopTime"} {
			if n, ok := r.integer(c); ok {
				if err := e.attribute("capture."+c+".ns", strconv.FormatInt(n, 10)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// gpuColumns are those of TARGET_INFO_GPU that a version or another has.
var gpuColumns = []string{"id", "name", "busLocation", "isDiscrete", "l2CacheSize", "totalMemory", "memoryBandwidth", "clockRate", "smCount", "uuid", "chipName",
	"cuDevice", "maxWarpsPerSm", "maxBlocksPerSm", "maxThreadsPerBlock", "maxRegistersPerBlock", "maxRegistersPerSm", "maxShmemPerBlock", "maxShmemPerSm",
	"threadsPerWarp", "computeMajor", "computeMinor", "asyncEngines", "sliceName"}

// target reads what the capture says about the machine.
func (e *export) target() error {
	m := &e.machine
	e.read["TARGET_INFO_SYSTEM_ENV"] = true
	err := e.db.each(e.ctx, "TARGET_INFO_SYSTEM_ENV", []string{"name", "value"}, "", func(r *record) error {
		name, value := r.text("name"), r.text("value")
		switch name {
		case "Hostname":
			m.Host = value
		case "CpuDescription":
			if value != "unknown" {
				m.CPU = value
			}
		case "NvDriverVersion":
			m.Driver = value
		case "DeviceEnvironment":
			return nil // environment variables, see meta
		}
		return e.attribute("target."+name, value)
	})
	if err != nil {
		return err
	}
	e.read["TARGET_INFO_GPU"] = true
	err = e.db.each(e.ctx, "TARGET_INFO_GPU", gpuColumns, "", func(r *record) error {
		id, _ := r.integer("id")
		for _, c := range gpuColumns[1:] {
			value := r.text(c)
			if n, ok := r.integer(c); ok {
				value = strconv.FormatInt(n, 10)
			}
			if err := e.attribute(fmt.Sprintf("gpu%d.%s", id, c), value); err != nil {
				return err
			}
		}
		arch := ""
		if major, ok := r.integer("computeMajor"); ok && major > 0 {
			minor, _ := r.integer("computeMinor")
			arch = fmt.Sprintf("cc%d.%d", major, minor)
		}
		if e.gpus++; e.gpus > 1 {
			if name := r.text("name"); name != m.GPU {
				e.out.Warn(0, 0, "there are GPUs of several kinds: the machine is recorded with %q, not %q", m.GPU, name)
			}
			return nil
		}
		m.GPU, m.Arch = r.text("name"), arch
		if n, ok := r.integer("smCount"); ok && n > 0 {
			m.Units = datasets.Some(n)
		}
		if n, ok := r.integer("totalMemory"); ok && n > 0 {
			m.MemBytes = datasets.Some(n)
		}
		if n, ok := r.integer("clockRate"); ok && n > 0 {
			hz := float64(n)
			if hz < 1e8 { // some versions write kHz; no GPU is that slow in Hz, none that fast in kHz
				hz *= 1e3
			}
			m.ClockHz = datasets.Some(hz)
		}
		if n, ok := r.integer("memoryBandwidth"); ok && n > 0 {
			return e.out.Put(&datasets.Ceiling{Machine: machineID, Level: "dram", Value: float64(n), Unit: "byte/s", Source: "TARGET_INFO_GPU.memoryBandwidth"})
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.read["TARGET_INFO_CUDA_DEVICE"] = true // says which of those GPUs a process calls 0
	return e.db.each(e.ctx, "TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId", "pid"}, "", func(r *record) error {
		gpu, ok := r.integer("gpuId")
		cuda, ok2 := r.integer("cudaId")
		pid, _ := r.integer("pid")
		if !ok || !ok2 {
			return nil
		}
		return e.attribute(fmt.Sprintf("cuda device %d of process %d", cuda, pid), fmt.Sprintf("gpu%d", gpu))
	})
}

// diagnostics hands on what nsys complained about.
func (e *export) diagnostics() error {
	e.read["DIAGNOSTIC_EVENT"] = true
	severities, err := e.enum("ENUM_DIAGNOSTIC_SEVERITY_LEVEL")
	if err != nil {
		return err
	}
	return e.db.each(e.ctx, "DIAGNOSTIC_EVENT", []string{"severity", "text"}, "", func(r *record) error {
		n, _ := r.integer("severity")
		text := r.text("text")
		label := first(severities[n], "severity "+strconv.FormatInt(n, 10))
		switch strings.ToLower(label) {
		case "warning", "error", "fatal":
			e.out.Warn(0, 0, "nsys reported: %s: %s", label, text)
			if e.run.Error == "" && strings.ToLower(label) != "warning" {
				e.run.Error = text
			}
		}
		return e.attribute("diagnostic."+label, text)
	})
}

// rest names the tables with rows that were not read.
func (e *export) rest() error {
	for _, table := range e.db.names() {
		switch {
		case e.read[table], strings.HasPrefix(table, "ENUM_"), strings.HasPrefix(table, "TARGET_INFO_"), strings.HasPrefix(table, "NVTX_PAYLOAD"),
			table == "StringIds", table == "ThreadNames", table == "PROCESSES", table == "ProcessStreams", table == "ANALYSIS_FILE", strings.HasPrefix(table, "META_DATA"):
			continue
		}
		n, err := e.db.count(e.ctx, table)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := e.attribute("not read."+table, fmt.Sprintf("%d rows", n)); err != nil {
				return err
			}
		}
	}
	return nil
}
