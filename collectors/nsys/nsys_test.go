package nsys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/nsys"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func count(kind string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := 0
		for _, l := range r.Launches {
			if r.Region(l.Region).Kind == kind {
				n++
			}
		}
		return n
	}
}

// time sums the durations of the launches whose region's raw name is name.
func spent(r *parsertest.Records, name string) (n int, ns int64) {
	ids := map[int64]bool{}
	for _, g := range r.Regions {
		if g.Raw == name {
			ids[g.ID] = true
		}
	}
	for _, l := range r.Launches {
		if ids[l.Region] {
			n++
			ns += l.DurNs.V
		}
	}
	return n, ns
}

func TestRealSample(t *testing.T) {
	const file = "h100_2gpu_1s.sqlite"
	q := func(sql string) string { return "sqlite3 " + file + " '" + sql + "'" }
	facts := []parsertest.Fact{
		{File: file, What: "launches of kernels", Of: func(r *parsertest.Records) any { return count(datasets.KindKernel)(r) }, Want: 3442, How: q("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL")},
		{File: file, What: "the time of all kernels in ns", Of: func(r *parsertest.Records) any {
			sum := int64(0)
			for _, l := range r.Launches {
				if r.Regions[l.Region-1].Kind == datasets.KindKernel {
					sum += l.DurNs.V
				}
			}
			return sum
		}, Want: 44829522, How: q(`select sum("end"-start) from CUPTI_ACTIVITY_KIND_KERNEL`)},
		{File: file, What: "calls of cudaLaunchKernel", Of: func(r *parsertest.Records) any {
			n, _ := spent(r, "cudaLaunchKernel_v7000")
			return n
		}, Want: 2788, How: q("select count(*) from CUPTI_ACTIVITY_KIND_RUNTIME r join StringIds s on s.id=r.nameId where s.value=\"cudaLaunchKernel_v7000\"")},
		{File: file, What: "bytes copied", Of: func(r *parsertest.Records) any {
			sum := 0.0
			for _, c := range r.Counters {
				if c.Metric == "bytes" && strings.HasPrefix(r.Regions[c.Region-1].Raw, "[CUDA memcpy") {
					sum += c.Value.V
				}
			}
			return sum
		}, Want: 110318980178.0, How: q("select sum(bytes) from CUPTI_ACTIVITY_KIND_MEMCPY")},
		{File: file, What: "copies from device to device", Of: func(r *parsertest.Records) any {
			n, _ := spent(r, "[CUDA memcpy Device-to-Device]")
			return n
		}, Want: 450, How: q("select count(*) from CUPTI_ACTIVITY_KIND_MEMCPY where copyKind=8")},
		{File: file, What: "version of the schema", Of: func(r *parsertest.Records) any { return r.Runs[0].FormatVersion }, Want: "3.25.0", How: q("select value from META_DATA_EXPORT where name=\"EXPORT_SCHEMA_VERSION\"")},
		{File: file, What: "start", Of: func(r *parsertest.Records) any { return r.Runs[0].Started.V.UnixNano() }, Want: int64(1779630014975716426), How: q("select utcEpochNs from TARGET_INFO_SESSION_START_TIME")},
		{File: file, What: "first kernel", Of: func(r *parsertest.Records) any {
			l := r.Launches[0]
			return fmt.Sprint(r.Regions[l.Region-1].Short, l.Grid, l.Block, l.Regs, l.Stream, l.PID, l.ToolID, l.StartNs, l.DurNs, l.Sequence)
		}, Want: fmt.Sprint("vectorized_gather_kernel", [3]datasets.Null[int64]{some(50), some(4), some(1)}, [3]datasets.Null[int64]{some(256), some(1), some(1)}, some(32), some(7), some(111), "1438831", some(155360295935), some(4064), some(0)),
			How: q("select * from CUPTI_ACTIVITY_KIND_KERNEL order by start limit 1") + "; the process is globalPid >> 24 & 0xffffff"},
		{File: file, What: "no environment variable is kept", Of: func(r *parsertest.Records) any {
			n := 0
			for _, a := range r.Attributes {
				if strings.Contains(a.Name, "ENVIRONMENT") || strings.Contains(a.Value, "MODAL_TASK_SECRET") {
					n++
				}
			}
			return n
		}, Want: 0, How: "the variables may hold secrets"},
	}
	parsertest.Facts(t, "../../../shared/samples/nsys", facts, nil)
}

func some(n int64) datasets.Null[int64] { return datasets.Some(n) }

// database writes an export of our own.
func database(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b#?.sqlite") // a path that URLs have to escape
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(filepath.Dir(path), "plain.sqlite")
	db.Close()
	if db, err = sql.Open("sqlite", plain); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(plain, path); err != nil {
		t.Fatal(err)
	}
	return path
}

const meta = `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.1.7'), ('EXPORT_PRODUCT_VERSION', '2023.1.2');
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'void ns::axpy<float>(float const*, int)'), (2, 'axpy'), (3, '_ZN2ns4axpyIfEEvPKfi'), (4, 'cudaLaunchKernel_v7000'), (5, 'read'), (6, 'step'), (7, 'MyLib');
`

// pid 5, thread 9 of machine 1.
const gpid, gtid = 1<<48 | 5<<24, 1<<48 | 5<<24 | 9

func read(t *testing.T, statements string) (*parsertest.Records, error) {
	t.Helper()
	format, r, err := parsertest.ParseFile(t, database(t, statements))
	if format != "nsys-sqlite" {
		t.Fatalf("detected as %q: %v", format, err)
	}
	if err == nil {
		parsertest.CheckReferences(t, r)
	}
	return r, err
}

func TestOldAndSmallSchemasAreRead(t *testing.T) {
	r, err := read(t, meta+fmt.Sprintf(`
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "end" INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT, mangledName INT,
	registersPerThread INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 2600, 1, 7, 42, %[1]d, 1, 2, 3, 24, 8, 2, 1, 128, 1, 1, 1024, 512), (1000, 1500, 0, 7, 41, %[1]d, 1, 2, 3, 24, 8, 2, 1, 128, 1, 1, 0, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, "end" INT, deviceId INT, streamId INT, bytes INT, copyKind INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (100, 300, 0, 7, 4096, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, "end" INT, globalTid INT, correlationId INT, nameId INT, returnValue INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (900, 950, %[2]d, 41, 4, 0), (1900, 1950, %[2]d, 42, 4, 2);
CREATE TABLE OSRT_API (start INT, "end" INT, globalTid INT, nameId INT);
INSERT INTO OSRT_API VALUES (10, 30, %[2]d, 5);
CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, totalMemory INT, memoryBandwidth INT, clockRate INT, smCount INT, computeMajor INT, computeMinor INT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'Testing GPU', 8589934592, 500000000000, 1500000000, 40, 8, 6);
CREATE TABLE SCHED_EVENTS (start INT, cpu INT); INSERT INTO SCHED_EVENTS VALUES (1, 2), (3, 4);`, int64(gpid), int64(gtid)))
	if err != nil {
		t.Fatal(err)
	}
	// By hand, from the statements above.
	first, second := r.Launches[0], r.Launches[1]
	g := r.Region(first.Region)
	if g.Short != "axpy" || g.Mangled != "_ZN2ns4axpyIfEEvPKfi" || g.Raw != "void ns::axpy<float>(float const*, int)" {
		t.Errorf("region %+v", g)
	}
	if first.StartNs != some(1000) || first.Sequence != some(0) || first.ToolID != "41" || first.Device != some(0) || first.PID != some(5) || first.Smem != some(0) {
		t.Errorf("the kernel that started first is %+v", first)
	}
	if second.DurNs != some(600) || second.Sequence != some(1) || second.Smem != some(1536) || second.Context.Valid || second.Grid != [3]datasets.Null[int64]{some(8), some(2), some(1)} {
		t.Errorf("the second kernel is %+v", second)
	}
	if n, ns := spent(r, "[CUDA memcpy HtoD]"); n != 1 || ns != 200 || r.Total("bytes") != 4096 {
		t.Errorf("copies: %d in %d ns, %v bytes", n, ns, r.Total("bytes"))
	}
	for _, g := range r.Regions {
		if g.Raw == "cudaLaunchKernel_v7000" && (g.Short != "cudaLaunchKernel" || g.Module != "CUDA API") || g.Raw == "read" && g.Module != "OS runtime" {
			t.Errorf("region %+v", g)
		}
	}
	m := r.Machines[0]
	if m.GPU != "Testing GPU" || m.Arch != "cc8.6" || m.Units != some(40) || m.ClockHz != datasets.Some(1.5e9) || m.MemBytes != some(8<<30) || len(r.Ceilings) != 1 || r.Ceilings[0].Value != 5e11 {
		t.Errorf("machine %+v, ceilings %+v", m, r.Ceilings)
	}
	if !attribute(r, "not read.SCHED_EVENTS", "2 rows") || !attribute(r, "returnValue", "2") {
		t.Errorf("attributes %+v", r.Attributes)
	}
	if v := r.Value("axpy", "duration"); v != datasets.Some(5e-7) || r.Runs[0].TimeMetric != "duration" || r.Runs[0].ToolVersion != "2023.1.2" {
		t.Errorf("duration %v, run %+v", v, r.Runs[0])
	}
}

func attribute(r *parsertest.Records, name, value string) bool {
	for _, a := range r.Attributes {
		if a.Name == name && a.Value == value {
			return true
		}
	}
	return false
}

func TestRangesNestPerThreadAndDomain(t *testing.T) {
	r, err := read(t, meta+fmt.Sprintf(`
CREATE TABLE NVTX_EVENTS (start INT, "end" INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT, int64Value INT);
INSERT INTO NVTX_EVENTS VALUES
	(0, NULL, 75, 'MyLib', NULL, %[1]d, 3, NULL),
	(10, 100, 59, 'outer', NULL, %[1]d, 0, NULL), (20, 50, 59, NULL, 6, %[1]d, 0, 77), (25, 30, 59, 'inner, op_id = 8', NULL, %[1]d, 0, NULL),
	(50, 60, 59, NULL, 6, %[1]d, 0, NULL), (55, 120, 60, 'free', NULL, %[1]d, 0, NULL), (20, 40, 59, 'other thread', NULL, %[2]d, 0, NULL),
	(22, 28, 59, 'in the library', NULL, %[1]d, 3, NULL), (57, NULL, 34, 'mark', NULL, %[1]d, 0, NULL), (90, NULL, 59, 'never ended', NULL, %[1]d, 0, NULL);`, int64(gtid), int64(gtid+1)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, l := range r.Launches {
		got[r.Path(l.Region)]++
	}
	for path, n := range map[string]int{"outer": 1, "outer/step": 2, "outer/step/inner": 1, "free": 1, "other thread": 1, "in the library": 1, "outer/step/mark": 1, "outer/never ended": 1} {
		if got[path] != n {
			t.Errorf("%s was met %d times, want %d: %v", path, got[path], n, got)
		}
	}
	if len(got) != 8 || r.Total("payload") != 77 {
		t.Errorf("%v, payload %v", got, r.Total("payload"))
	}
	for _, g := range r.Regions {
		if g.Short == "inner" && g.Raw != "inner, op_id = 8" || (g.Raw == "in the library") != (g.Module == "MyLib") {
			t.Errorf("region %+v", g)
		}
	}
	for _, l := range r.Launches {
		if raw := r.Region(l.Region).Raw; (raw == "never ended" || raw == "mark") == l.DurNs.Valid {
			t.Errorf("the duration of %s is %v", raw, l.DurNs)
		}
	}
}

func TestMetricsAreTelemetry(t *testing.T) {
	r, err := read(t, meta+`
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INT, sourceId INT, metricId INT, metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (72057598332895233, 1, 4, 'SMs Active [Throughput %]'), (72057598332895233, 1, 0, 'GPC Clock Frequency [MHz]');
CREATE TABLE GPU_METRICS (timestamp INT, typeId INT, metricId INT, value INT);
INSERT INTO GPU_METRICS VALUES (2000, 72057598332895233, 4, 88), (1000, 72057598332895233, 4, NULL), (1000, 72057598332895233, 0, 1980);`)
	if err != nil {
		t.Fatal(err)
	}
	// 72057598332895233 & 0xff is 1: the GPU.
	want := []datasets.Telemetry{
		{Run: 1, Sensor: "gpu1.SMs Active", TNs: 1000, Unit: "%", Kind: "average"},
		{Run: 1, Sensor: "gpu1.GPC Clock Frequency", TNs: 1000, Value: datasets.Some(1.98e9), Unit: "Hz", Kind: "average"},
		{Run: 1, Sensor: "gpu1.SMs Active", TNs: 2000, Value: datasets.Some(88.0), Unit: "%", Kind: "average"},
	}
	if fmt.Sprint(r.Telemetry) != fmt.Sprint(want) || r.Runs[0].Status != datasets.RunOK {
		t.Errorf("%+v", r.Telemetry)
	}
}

func TestGenericEventsAreTelemetryInOldExports(t *testing.T) {
	r, err := read(t, meta+`
CREATE TABLE GENERIC_EVENT_TYPES (typeId INT, sourceId INT, data TEXT); INSERT INTO GENERIC_EVENT_TYPES VALUES (256, 1, '{"Name":"GPU metrics"}'), (9, 2, '{"Name":"ETW"}');
CREATE TABLE GENERIC_EVENTS (timestamp INT, typeId INT, data TEXT);
INSERT INTO GENERIC_EVENTS VALUES (5, 256, '{"DRAM Read [Throughput %]": "12", "Note": "x"}'), (6, 9, '{"a": 1}');`)
	if err != nil || len(r.Telemetry) != 1 || r.Telemetry[0].Sensor != "gpu0.DRAM Read" || r.Telemetry[0].Value != datasets.Some(12.0) {
		t.Errorf("%v, %+v", err, r.Telemetry)
	}
}

func TestNothingMeasuredIsSaid(t *testing.T) {
	r, err := read(t, meta)
	if err != nil {
		t.Fatal(err)
	}
	if run := r.Runs[0]; run.Status != datasets.RunEmpty || !strings.Contains(run.Error, "no event") || run.TimeMetric != "" || len(r.Warnings) != 1 {
		t.Errorf("run %+v, warnings %v", run, r.Warnings)
	}
}

func TestWhatIsNoExportIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ statements, want string }{
		"another database": {"CREATE TABLE t (a);", "Nsight Systems did not write"},
		"nvprof":           {"CREATE TABLE StringTable (_id_, value); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x);", "a database of nvprof"},
		"a new schema":     {"CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '4.0.0');", `version "4.0.0" of the schema, while 3 is the newest`},
	} {
		_, err := read(t, c.statements)
		var refused *collectors.UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	var unknown *collectors.UnknownError
	if _, _, err := collectors.ParseFile(context.Background(), database(t, "CREATE TABLE t (a);"), collectors.Options{Found: true}, &parsertest.Records{}); !errors.As(err, &unknown) {
		t.Errorf("a database that was found in a folder: %v", err)
	}
	if r, err := read(t, "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE OSRT_API (start INT, \"end\" INT, nameId INT);"); err != nil || len(r.Warnings) != 2 {
		t.Errorf("an export without its version: %v, %+v", err, r.Warnings)
	}
	if format, _, err := parsertest.ParseFile(t, write(t, "x.nsys-rep", "\x00\x01binary")); format != "nsys-rep" || !strings.Contains(err.Error(), "nsys export --type sqlite") {
		t.Errorf("a report: %s, %v", format, err)
	}
	if format, _, err := parsertest.ParseFile(t, write(t, "x.qdrep", "\x00\x01binary")); format != "nsys-rep" || err == nil {
		t.Errorf("an old report: %s, %v", format, err)
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEventsWithoutANameAreKept(t *testing.T) {
	r, err := read(t, meta+`CREATE TABLE OSRT_API (start INT, "end" INT, nameId INT); INSERT INTO OSRT_API VALUES (1, 2, 99), (3, 4, 98), (5, 6, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "end" INT, demangledName INT, shortName INT, mangledName INT); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 97, 2, 0);`)
	if err != nil || len(r.Launches) != 4 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "97") {
		t.Fatalf("%v, %+v", err, r)
	}
	if g := r.Regions[0]; g.Raw != "axpy" || g.Mangled != "" || r.Regions[1].Raw != "(unnamed)" {
		t.Errorf("%+v", r.Regions)
	}
}

func TestDamagedDatabasesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ statements, want string }{
		"an end before":     {meta + `CREATE TABLE OSRT_API (start INT, "end" INT, nameId INT); INSERT INTO OSRT_API VALUES (5, 2, 5);`, "an event of table OSRT_API ends before it starts: expected an end of at least 5 ns, found 2"},
		"no start":          {meta + `CREATE TABLE OSRT_API (start INT, "end" INT, nameId INT); INSERT INTO OSRT_API VALUES (NULL, 2, 5);`, "has no start"},
		"half a nanosecond": {meta + `CREATE TABLE OSRT_API (start INT, "end" INT, nameId INT); INSERT INTO OSRT_API VALUES (1, 2.5, 5);`, "the end of an event of table OSRT_API is no whole number"},
		"too long":          {meta + `CREATE TABLE OSRT_API (start INT, "end" INT, nameId INT); INSERT INTO OSRT_API VALUES (-10, 9223372036854775807, 5);`, "longer than 292 years"},
		"a nameless kernel": {meta + `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "end" INT); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2);`, "has no name"},
	} {
		_, err := read(t, c.statements)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, journal := range []string{"-wal", "-journal"} {
		path := database(t, meta)
		if err := os.WriteFile(path+journal, []byte("rows"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := parsertest.ParseFile(t, path)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), journal) {
			t.Errorf("with a journal: %v, want one that names it", err)
		}
	}
	whole, err := os.ReadFile(database(t, meta))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{50, 100, 4096, len(whole) - 1} {
		_, _, err := parsertest.ParseFile(t, write(t, "cut.sqlite", string(whole[:n])))
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func FuzzSQLite(f *testing.F) {
	parsertest.Fuzz(f, "nsys-sqlite", "", "SQLite format 3\x00", strings.Repeat("SQLite format 3\x00", 300))
}

// A program gives its ranges what values it likes.
func TestPayloadsThatAreNotFinite(t *testing.T) {
	r, err := read(t, meta+`CREATE TABLE NVTX_EVENTS (start INT, "end" INT, eventType INT, text TEXT, globalTid INT, doubleValue REAL);
		INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'a', 1, 9e999), (3, 4, 59, 'b', 1, -2.5);`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range r.Counters {
		if c.Metric == "payload" {
			got[r.Region(c.Region).Raw] = fmt.Sprint(c.RawValue, " ", c.Status, " ", c.Value)
		}
	}
	if got["a"] != "+Inf na {0 false}" || got["b"] != "-2.5 ok {-2.5 true}" {
		t.Errorf("%v", got)
	}
}
