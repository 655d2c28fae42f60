package nsys

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// kernels reads the launches of kernels.
func (e *export) kernels() error {
	for _, table := range []string{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"} {
		if err := e.kernelTable(table); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) kernelTable(table string) error {
	e.read[table] = true
	columns := []string{"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "mangledName",
		"registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory",
		"localMemoryPerThread", "localMemoryTotal", "sharedMemoryExecuted", "graphNodeId", "graphId", "clusterX", "clusterY", "clusterZ", "greenContextId", "launchType"}
	launchTypes, err := e.enum("ENUM_CUDA_KERNEL_LAUNCH_TYPE")
	if err != nil {
		return err
	}
	return e.db.each(e.ctx, table, columns, "start", func(r *record) error {
		demangled, err := e.name(r.integer("demangledName"))
		if err != nil {
			return err
		}
		short, err := e.name(r.integer("shortName"))
		if err != nil {
			return err
		}
		mangled, err := e.name(r.integer("mangledName"))
		if err != nil {
			return err
		}
		raw := first(demangled, mangled, short)
		if raw == "" {
			return &collectors.SyntaxError{File: e.in.Name, Msg: "a kernel of table " + table + " has no name", Hint: "the database is damaged: export the report again"}
		}
		if mangled == raw && !strings.HasPrefix(mangled, "_Z") {
			mangled = "" // a C name
		}
		g, err := e.region(0, datasets.KindKernel, "", raw, collectors.ShortName(raw), mangled)
		if err != nil {
			return err
		}
		l := e.device(g, r)
		l.Regs = r.null("registersPerThread")
		for i, axis := range [3]string{"X", "Y", "Z"} {
			l.Grid[i], l.Block[i] = r.null("grid"+axis), r.null("block"+axis)
		}
		if s, d := r.null("staticSharedMemory"), r.null("dynamicSharedMemory"); s.Valid || d.Valid {
			l.Smem = datasets.Some(s.V + d.V)
		}
		if err := e.when(l, table, r); err != nil {
			return err
		}
		if err := e.launch("kernel", l); err != nil {
			return err
		}
		for _, c := range [...]string{"staticSharedMemory", "dynamicSharedMemory", "sharedMemoryExecuted", "localMemoryPerThread", "localMemoryTotal"} {
			if err := e.counter(l, r, c, "byte"); err != nil {
				return err
			}
		}
		return e.kernelFacts(l, r, launchTypes)
	})
}

// kernelFacts puts what only some launches have.
func (e *export) kernelFacts(l *datasets.Launch, r *record, launchTypes map[int64]string) error {
	if n, ok := r.integer("launchType"); ok && n > 1 { // 1 is the regular one
		if err := e.about(l, "launch type", first(launchTypes[n], strconv.FormatInt(n, 10))); err != nil {
			return err
		}
	}
	if x, ok := r.integer("clusterX"); ok && x > 0 {
		y, _ := r.integer("clusterY")
		z, _ := r.integer("clusterZ")
		if err := e.about(l, "cluster", fmt.Sprintf("%d,%d,%d", x, y, z)); err != nil {
			return err
		}
	}
	for _, c := range [...]string{"graphNodeId", "graphId", "greenContextId"} {
		if n, ok := r.integer(c); ok && n != 0 {
			if err := e.about(l, c, strconv.FormatInt(n, 10)); err != nil {
				return err
			}
		}
	}
	return nil
}

// device begins the launch of something that a GPU did.
func (e *export) device(region int64, r *record) *datasets.Launch {
	l := &datasets.Launch{Region: region, Device: r.null("deviceId"), Context: r.null("contextId"), Stream: r.null("streamId")}
	if n, ok := r.integer("correlationId"); ok {
		l.ToolID = strconv.FormatInt(n, 10)
	}
	who(l, r, "globalPid", "")
	return l
}

// activities reads a table of what GPUs did under a name that name makes.
func (e *export) activities(table, kind string, more []string, name func(*record) string, facts func(*datasets.Launch, *record) error) error {
	e.read[table] = true
	columns := append([]string{"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"}, more...)
	return e.db.each(e.ctx, table, columns, "start", func(r *record) error {
		g, err := e.region(0, datasets.KindRange, "", name(r), "", "")
		if err != nil {
			return err
		}
		l := e.device(g, r)
		if err := e.when(l, table, r); err != nil {
			return err
		}
		if err := e.launch(kind, l); err != nil {
			return err
		}
		return facts(l, r)
	})
}

// copies reads the copies of memory, named as nsys's own reports name them.
func (e *export) copies() error {
	kinds, err := e.enum("ENUM_CUDA_MEMCPY_OPER")
	if err != nil {
		return err
	}
	memory, err := e.enum("ENUM_CUDA_MEM_KIND")
	if err != nil {
		return err
	}
	old := map[int64]string{1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"} // CUPTI's numbers
	more := []string{"bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId", "copyCount"}
	return e.activities("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy", more, func(r *record) string {
		n, _ := r.integer("copyKind")
		return "[CUDA memcpy " + first(kinds[n], old[n], "kind "+strconv.FormatInt(n, 10)) + "]"
	}, func(l *datasets.Launch, r *record) error {
		if err := e.counter(l, r, "bytes", "byte"); err != nil {
			return err
		}
		for _, c := range [...]string{"srcKind", "dstKind"} {
			if n, ok := r.integer(c); ok {
				if err := e.about(l, c, first(memory[n], strconv.FormatInt(n, 10))); err != nil {
					return err
				}
			}
		}
		for _, c := range [...]string{"srcDeviceId", "dstDeviceId", "graphNodeId"} {
			if n, ok := r.integer(c); ok {
				if err := e.about(l, c, strconv.FormatInt(n, 10)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (e *export) sets() error {
	return e.activities("CUPTI_ACTIVITY_KIND_MEMSET", "memset", []string{"bytes", "value", "graphNodeId"}, func(*record) string { return "[CUDA memset]" },
		func(l *datasets.Launch, r *record) error { return e.counter(l, r, "bytes", "byte") })
}

// graphs reads CUDA graphs that were traced as a whole.
func (e *export) graphs() error {
	return e.activities("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph", []string{"graphId", "graphExecId"}, func(r *record) string {
		n, _ := r.integer("graphId")
		return "[CUDA graph " + strconv.FormatInt(n, 10) + "]"
	}, func(*datasets.Launch, *record) error { return nil })
}

func (e *export) synchronizations() error {
	kinds, err := e.enum("ENUM_CUPTI_SYNC_TYPE")
	if err != nil {
		return err
	}
	return e.activities("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "synchronization", []string{"syncType", "deprecatedSyncType"}, func(r *record) string {
		n, ok := r.integer("syncType")
		if !ok {
			n, _ = r.integer("deprecatedSyncType")
		}
		return "[CUDA " + first(kinds[n], "synchronization "+strconv.FormatInt(n, 10)) + "]"
	}, func(*datasets.Launch, *record) error { return nil })
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
