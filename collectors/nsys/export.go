package nsys

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

// export reads one database.
type export struct {
	ctx context.Context
	db  *database
	in  *collectors.Input
	out *collectors.Output

	run      datasets.Run
	machine  datasets.Machine
	strings  map[int64]string // names that were looked up
	regions  map[[16]byte]int64
	launches int64
	sequence map[string]int64 // by kind of event
	samples  int64            // of telemetry
	read     map[string]bool  // tables
	rows     int
	gpus     int
	missing  bool // some string is
}

// newest is the major version of the schema that is known.
const newest = 3

func parseSQLite(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return in.WithFile(func(path string) error {
		db, err := openDatabase(ctx, in.Name, path)
		if err != nil {
			return err
		}
		defer db.Close()
		e := &export{ctx: ctx, db: db, in: in, out: out, strings: map[int64]string{}, regions: map[[16]byte]int64{}, sequence: map[string]int64{}, read: map[string]bool{},
			run:     datasets.Run{ID: runID, Tool: "nsys", Format: "nsys-sqlite", Status: datasets.RunOK, TimeMetric: "duration", TimeInclusive: true},
			machine: datasets.Machine{ID: machineID}}
		return e.parse()
	})
}

func (e *export) parse() error {
	if err := e.version(); err != nil {
		return err
	}
	for _, step := range []func() error{e.meta, e.target, e.kernels, e.copies, e.sets, e.graphs, e.synchronizations, e.ranges, e.functions, e.metrics, e.genericEvents, e.diagnostics, e.rest} {
		if err := step(); err != nil {
			return err
		}
	}
	if e.launches == 0 && e.samples == 0 {
		e.run.Status, e.run.TimeMetric = datasets.RunEmpty, ""
		e.run.Error = "the export holds no event: nothing of CUDA, NVTX, the OS runtime or GPU metrics was traced. " +
			"Did the program reach the GPU within the time of the capture, and was it traced (nsys profile --trace=cuda,nvtx,osrt)?"
		out := e.out
		out.Warn(0, 0, "nothing was measured: %s", e.run.Error)
	}
	if e.gpus > 0 || e.machine != (datasets.Machine{ID: machineID}) {
		e.run.Machine = machineID
		if err := e.out.Put(&e.machine); err != nil {
			return err
		}
	}
	return e.out.Put(&e.run)
}

// version looks whether this is an export, and of a version that is known.
func (e *export) version() error {
	if !e.db.has("META_DATA_EXPORT", "name", "value") {
		what := "a SQLite database that Nsight Systems did not write"
		hint := "export the report with nsys export --type sqlite"
		switch {
		case e.db.has("StringTable"):
			what, hint = "a database of nvprof", "print it: nvprof --import-profile FILE --csv --print-gpu-trace, or profile with nsys or ncu"
		case e.db.has("StringIds", "id", "value"):
			// Exports before 2021 do not tell their version; their tables do.
			e.out.Warn(0, 0, "the export does not tell the version of its schema: it is read by the names of its tables and columns")
			return nil
		}
		if e.in.Found() && len(e.db.tables) > 0 && !e.db.has("StringTable") {
			return &collectors.UnknownError{File: e.in.Name} // folders have databases of all sorts
		}
		return &collectors.UnsupportedError{File: e.in.Name, What: what, Hint: hint}
	}
	e.read["META_DATA_EXPORT"] = true
	err := e.db.each(e.ctx, "META_DATA_EXPORT", []string{"name", "value"}, "", func(r *record) error {
		name, value := r.text("name"), r.text("value")
		switch name {
		case "EXPORT_SCHEMA_VERSION":
			e.run.FormatVersion = value
		case "EXPORT_PRODUCT_VERSION":
			e.run.ToolVersion = value
		}
		return e.attribute("export."+name, value)
	})
	if err != nil {
		return err
	}
	major, _, _ := strings.Cut(e.run.FormatVersion, ".")
	n, err := strconv.Atoi(major)
	switch {
	case e.run.FormatVersion == "":
		e.out.Warn(0, 0, "the export does not tell the version of its schema: it is read by the names of its tables and columns")
	case err != nil || n < 0 || n > newest:
		return &collectors.UnsupportedError{File: e.in.Name, What: fmt.Sprintf("an export of Nsight Systems with version %s of the schema, while %d is the newest that is known here", collectors.Quote(e.run.FormatVersion), newest),
			Hint: "export the report with an older nsys, or ask for the new version"}
	}
	return nil
}

// attribute puts a fact about the run. Very long ones, which are JSON about
// the tool's own plugins, are cut off.
func (e *export) attribute(name, value string) error {
	const most = 4096
	if value == "" {
		return nil
	}
	if len(value) > most {
		value = value[:most] + "..."
	}
	return e.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: strings.ToValidUTF8(value, "\uFFFD")})
}

// name looks a string up; "" where there is none.
func (e *export) name(id int64, ok bool) (string, error) {
	if !ok {
		return "", nil
	}
	if s, known := e.strings[id]; known {
		return s, nil
	}
	if !e.db.has("StringIds", "id", "value") {
		return "", &collectors.SyntaxError{File: e.in.Name, Msg: "an event refers to a name, and the table StringIds is missing", Hint: "the export is incomplete: make it again"}
	}
	var s string
	err := e.db.QueryRowContext(e.ctx, `SELECT value FROM StringIds WHERE id = ?`, id).Scan(&s)
	if errors.Is(err, sql.ErrNoRows) {
		// 0 is what old versions write for "none"; exports that somebody cut
		// down lack others. The event is right all the same.
		if id != 0 && !e.missing {
			e.missing = true
			e.out.Warn(0, 0, "the string %d that an event refers to is not in StringIds, and maybe others: such names are left out", id)
		}
		e.strings[id] = ""
		return "", nil
	}
	if err != nil {
		return "", e.db.broken("the string "+strconv.FormatInt(id, 10)+" of StringIds", err)
	}
	e.strings[id] = s
	return s, nil
}

// region returns the region of a name below another one.
func (e *export) region(parent int64, kind, module, raw, short, mangled string) (int64, error) {
	h := fnv.New128a()
	_, _ = io.WriteString(h, kind+"\x00"+strconv.FormatInt(parent, 10)+"\x00"+module+"\x00"+mangled+"\x00"+raw) // a hash takes everything
	var key [16]byte
	h.Sum(key[:0])
	if id, ok := e.regions[key]; ok {
		return id, nil
	}
	id := int64(len(e.regions) + 1)
	e.regions[key] = id
	if short == "" {
		short = raw
	}
	return id, e.out.Put(&datasets.Region{ID: id, Run: runID, Parent: parent, Kind: kind, Raw: raw, Short: short, Mangled: mangled, Module: module})
}

// launch puts an event of a region; kind numbers the events of one sort.
func (e *export) launch(kind string, l *datasets.Launch) error {
	if e.rows++; e.rows%4096 == 0 && e.ctx.Err() != nil {
		return fmt.Errorf("reading %s: %w", e.in.Name, e.ctx.Err())
	}
	e.launches++
	l.ID, l.Run, l.Sequence = e.launches, runID, datasets.Some(e.sequence[kind])
	e.sequence[kind]++
	if err := e.out.Put(l); err != nil {
		return err
	}
	if !l.DurNs.Valid {
		return nil
	}
	raw := strconv.FormatInt(l.DurNs.V, 10)
	v, _ := strconv.ParseFloat(raw+"e-9", 64) // digits always parse
	return e.out.Put(&datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: "duration", Value: datasets.Some(v), Unit: "s", RawValue: raw, RawUnit: "ns", Status: datasets.StatusOK})
}

// counter puts the value of a column, where it has one.
func (e *export) counter(l *datasets.Launch, r *record, column, unit string) error {
	n, ok := r.integer(column)
	if !ok {
		return nil
	}
	return e.out.Put(&datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: column, Value: datasets.Some(float64(n)), Unit: unit,
		RawValue: strconv.FormatInt(n, 10), RawUnit: unit, Status: datasets.StatusOK})
}

func (e *export) about(l *datasets.Launch, name, value string) error {
	if value == "" {
		return nil
	}
	return e.out.Put(&datasets.Attribute{Run: runID, Region: l.Region, Launch: l.ID, Name: name, Value: value})
}

func (r *record) null(column string) datasets.Null[int64] {
	n, ok := r.integer(column)
	return datasets.Null[int64]{V: n, Valid: ok}
}

// when fills in the times of a launch. An event that had not ended when the
// capture did has no end.
func (e *export) when(l *datasets.Launch, table string, r *record) error {
	for _, c := range [...]string{"start", "end"} {
		if _, ok := r.integer(c); r.has(c) && !ok {
			return &collectors.SyntaxError{File: e.in.Name, Msg: fmt.Sprintf("the %s of an event of table %s is no whole number", c, table), Expected: "nanoseconds", Found: collectors.Quote(fmt.Sprint(r.values[r.at[c]])),
				Hint: "the database is damaged, or something else wrote it: export the report again"}
		}
	}
	start, ok := r.integer("start")
	if !ok {
		return &collectors.SyntaxError{File: e.in.Name, Msg: "an event of table " + table + " has no start", Hint: "the database is damaged: export the report again"}
	}
	l.StartNs = datasets.Some(start)
	end, ok := r.integer("end")
	if !ok {
		return nil
	}
	if end < start {
		return &collectors.SyntaxError{File: e.in.Name, Msg: fmt.Sprintf("an event of table %s ends before it starts", table), Expected: fmt.Sprintf("an end of at least %d ns", start), Found: strconv.FormatInt(end, 10),
			Hint: "the database is damaged: export the report again"}
	}
	if end-start < 0 { // more than 64 bits hold
		return &collectors.SyntaxError{File: e.in.Name, Msg: fmt.Sprintf("an event of table %s lasts longer than 292 years", table), Found: fmt.Sprintf("%d to %d ns", start, end),
			Hint: "the database is damaged: export the report again"}
	}
	l.DurNs = datasets.Some(end - start)
	return nil
}

// who fills in process and thread: ids hold the machine, the process and the
// thread in 16, 24 and 24 bits.
func who(l *datasets.Launch, r *record, pid, tid string) {
	if n, ok := r.integer(tid); tid != "" && ok {
		l.PID, l.Thread = datasets.Some(n>>24&0xffffff), datasets.Some(n&0xffffff)
	} else if n, ok := r.integer(pid); pid != "" && ok {
		l.PID = datasets.Some(n >> 24 & 0xffffff)
	}
}

// enum returns the labels of an enumeration.
func (e *export) enum(table string) (map[int64]string, error) {
	labels := map[int64]string{}
	e.read[table] = true
	err := e.db.each(e.ctx, table, []string{"id", "name", "label"}, "", func(r *record) error {
		id, ok := r.integer("id")
		if s := r.text("label"); ok && s != "" {
			labels[id] = s
		} else if ok {
			labels[id] = r.text("name")
		}
		return nil
	})
	return labels, err
}
