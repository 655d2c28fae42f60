package main_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sample is what must become of files below shared/.
type sample struct {
	pattern string // of the path below shared/
	format  string
	status  string // imported, skipped or failed
	says    string // a part of the reason or of the message; "" for imported files
}

// samples is the acceptance of all sample profiles and data sets: the first
// pattern that fits a file decides. A file that none fits fails the test.
var samples = []sample{
	{"samples/MANIFEST.tsv", "", "skipped", "no format that is known here"},

	{"samples/cachegrind/*.out", "cachegrind", "imported", ""},
	{"samples/caliper/*.cali", "caliper-cali", "imported", ""},
	{"samples/caliper/*.json", "caliper-json-split", "imported", ""},
	{"samples/callgrind/*.log", "callgrind", "imported", ""},
	{"samples/chrome_trace/*.json", "chrome-trace", "imported", ""},
	{"samples/cubex/*.cubex", "cubex", "imported", ""},
	{"samples/derived/gpuflopbench_*.csv", "gpuflopbench", "imported", ""},
	{"samples/gbench/*.json", "google-benchmark", "imported", ""},
	{"samples/gobench/*.json", "go-benchseries", "imported", ""},
	{"samples/gobench/*.txt", "go-bench", "imported", ""},
	{"samples/gobench/*.stdout", "go-bench", "imported", ""},
	{"samples/gprof/*.txt", "gprof", "imported", ""},
	{"samples/hpctoolkit/*experiment.xml", "hpctoolkit-xml", "imported", ""},
	{"samples/hpctoolkit/*_meta.db", "hpctoolkit", "imported", ""},
	{"samples/hpctoolkit/*.metric-db", "hpctoolkit-part", "skipped", "read together with experiment.xml"},
	{"samples/hpctoolkit/*.db", "hpctoolkit-part", "skipped", "read together with meta.db"},
	{"samples/llvm_mca/*.json", "llvm-mca", "imported", ""},
	{"samples/llvm_mca/*.txt", "llvm-mca-text", "failed", "run llvm-mca with --json"},
	{"samples/ncu/*.csv", "ncu-csv", "imported", ""},
	{"samples/ncu_rep/*.ncu-rep", "ncu-rep", "imported", ""},
	{"samples/nsys/*.sqlite", "nsys-sqlite", "imported", ""},
	{"samples/nvml/*_smi.txt", "nvidia-smi-dmon", "imported", ""},
	{"samples/nvml/*.json", "gpu-roofline-json", "imported", ""},
	{"samples/nvml/*_nvml.csv", "nvml-csv", "imported", ""},
	{"samples/nvml/*_peaks.csv", "roofline-peaks-csv", "imported", ""},
	{"samples/nvml/*_timing.csv", "kernel-timing-csv", "imported", ""},
	{"samples/perf/*.csv", "perf-stat-csv", "imported", ""},
	{"samples/perf/*.json", "perf-stat-json", "imported", ""},
	{"samples/perf_script/*.txt", "perf-script", "imported", ""},
	{"samples/pprof/*.callgrind", "callgrind", "imported", ""},
	{"samples/pprof/*.prof", "pprof", "imported", ""},
	{"samples/pprof/*", "pprof-legacy", "imported", ""},
	{"samples/rocprof/*.csv", "rocprof-csv", "imported", ""},
	{"samples/rocprof_compute/*_pmc_perf.csv", "rocprof-compute", "imported", ""},
	{"samples/rocprof_compute/*_sysinfo.csv", "rocprof-compute-sysinfo", "skipped", "_pmc_perf.csv"},
	{"samples/rocprof_compute/*_roofline.csv", "rocprof-compute-roofline", "skipped", "_pmc_perf.csv"},
	{"samples/rocprof_compute/*_timestamps.csv", "rocprof-compute-timestamps", "skipped", "_pmc_perf.csv"},
	{"samples/tau/*", "tau", "imported", ""},
	{"samples/timemory/*.json", "timemory", "imported", ""},
	{"samples/torch_trace/*_et.json.gz", "pytorch-execution-trace", "failed", "without any time"},
	{"samples/torch_trace/*.json.gz", "chrome-trace", "imported", ""},
	// Three of VTune's tables are broken on purpose: inferno, whose tests they
	// are, reports errors for two, and that the third has no table.
	{"samples/vtune/inferno_end-before-header.csv", "vtune-csv", "failed", ":1:1: the file ends before a table begins"},
	{"samples/vtune/inferno_invalid-time-field.csv", "vtune-csv", "failed", ":2:7: the cell of CPU Time:Self is no number"},
	{"samples/vtune/inferno_skipped-indentation.csv", "vtune-csv", "failed", ":7:1: the indentation skips a level"},
	{"samples/vtune/*.csv", "vtune-csv", "imported", ""},

	{"data/deeptune-devmap/*.csv", "deeptune-devmap", "imported", ""},
	{"data/gpuflopbench/*.json", "gpuflopbench-sources", "imported", ""},
	// The same table is among the samples, too.
	{"data/gpuflopbench/profiling-data.csv", "gpuflopbench", "unchanged", "imported from ../../../shared/samples/derived/gpuflopbench_profiling_data.csv"},
	{"data/kernel-tuner/*.json", "kernel-tuner-cache", "imported", ""},
	{"data/kernel-tuner-hub/*.json.gz", "kernel-tuner-cache", "imported", ""},
	{"data/ktt-coulomb/*.json", "ktt-json", "imported", ""},
	{"data/neusight/*.csv", "neusight", "imported", ""},
	{"data/neusight/device_configs/*.json", "neusight-device", "imported", ""},
	{"data/robust-kbench/*.csv", "robust-kbench", "imported", ""},
}

// measures are the tables of which a profile fills at least one.
var measures = []string{"counter", "telemetry", "ceiling", "pc_sample", "static_feature", "code", "launch"}

// All sample profiles and data sets, as a user imports them: each is imported,
// or left out or refused for the right reason; a second time changes nothing.
func TestAllSamplesAndDataSetsAreAccepted(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.duckdb")
	args := []string{"--store", store, samplesDir, "../../../shared/data"}
	first := importJSON(t, 1, args...)
	failed, runs := 0, 0
	for _, f := range first.Files {
		name := filepath.ToSlash(strings.TrimPrefix(f.Path, "../../../shared/"))
		want, known := sample{}, false
		for _, s := range samples {
			if ok, err := filepath.Match(s.pattern, name); err != nil {
				t.Fatal(err)
			} else if ok && !known {
				want, known = s, true
			}
		}
		says := f.Reason
		if f.Error != nil {
			says = f.Error.Message
		}
		switch {
		case !known:
			t.Errorf("%s: nothing says what must become of it: %+v", name, f)
		case f.Status != want.status || f.Format != want.format || !strings.Contains(says, want.says):
			t.Errorf("%s: %s as %q, %q; want %s as %q, %q", name, f.Status, f.Format, says, want.status, want.format, want.says)
		case f.Status == "failed" && !strings.HasPrefix(says, f.Path):
			t.Errorf("%s: the message does not begin with its name: %s", name, says)
		case f.Status == "imported":
			n := 0
			for _, table := range measures {
				n += f.Rows[table]
			}
			// The profile of a program that ran too shortly for gprof is empty.
			if n == 0 && name != "samples/gprof/local_gprof.txt" || f.Rows["run"] == 0 || f.Rows["artefact"] == 0 {
				t.Errorf("%s: imported, and nothing measured is in the store: %v", name, f.Rows)
			}
		}
		if f.Status == "failed" {
			failed++
		}
		runs += f.Rows["run"]
	}
	if failed != first.Failed || runs == 0 {
		t.Errorf("%d files failed, and the report says %d; %d runs", failed, first.Failed, runs)
	}

	before := rowCounts(t, store)
	if !strings.Contains(before, "\nrun,"+strconv.Itoa(runs)+"\n") {
		t.Errorf("the report counts %d runs, and the store has\n%s", runs, before)
	}
	for what, sql := range integrity {
		if out, errs, _ := run(t, "", "query", "--store", store, sql); out != "n\n0\n" {
			t.Errorf("%s: %s%s", what, out, errs)
		}
	}

	second := importJSON(t, 1, args...)
	if len(second.Files) != len(first.Files) {
		t.Fatalf("the second time %d files were met, not %d", len(second.Files), len(first.Files))
	}
	for i, f := range second.Files {
		want := first.Files[i].Status
		if want == "imported" {
			want = "unchanged"
		}
		if f.Path != first.Files[i].Path || f.Status != want {
			t.Errorf("the second time %s is %s, want %s", f.Path, f.Status, want)
		}
		if f.Error != nil && f.Error.Message != first.Files[i].Error.Message {
			t.Errorf("%s failed with\n%s\nand the second time with\n%s", f.Path, first.Files[i].Error.Message, f.Error.Message)
		}
	}
	if after := rowCounts(t, store); after != before {
		t.Errorf("importing a second time made of\n%s\nthis:\n%s", before, after)
	}
}

// integrity are counts that must be nil in every store.
var integrity = map[string]string{
	"values that are no numbers":             "SELECT count(*) AS n FROM counter WHERE isnan(value) OR isinf(value)",
	"measured counters without any value":    "SELECT count(*) AS n FROM counter WHERE status IN ('ok', 'multiplexed') AND value IS NULL AND raw_value IS NULL",
	"values of what was not measured":        "SELECT count(*) AS n FROM counter WHERE status IN ('na', 'denied', 'unsupported', 'missing') AND value IS NOT NULL",
	"counters of no run":                     "SELECT count(*) AS n FROM counter WHERE run_id NOT IN (SELECT id FROM run)",
	"counters of no region":                  "SELECT count(*) AS n FROM counter c ANTI JOIN region g ON g.id = c.region_id AND g.run_id = c.run_id",
	"counters of another region's launch":    "SELECT count(*) AS n FROM counter c JOIN launch l ON l.id = c.launch_id WHERE l.run_id <> c.run_id",
	"regions below those of another run":     "SELECT count(*) AS n FROM region g JOIN region p ON p.id = g.parent_id WHERE p.run_id <> g.run_id",
	"launches of no region":                  "SELECT count(*) AS n FROM launch l ANTI JOIN region g ON g.id = l.region_id AND g.run_id = l.run_id",
	"launches that take less than no time":   "SELECT count(*) AS n FROM launch WHERE dur_ns < 0",
	"regions without a name":                 "SELECT count(*) AS n FROM region WHERE short = ''",
	"runs without the file they came from":   "SELECT count(*) AS n FROM run r ANTI JOIN provenance p ON p.run_id = r.id",
	"runs of machines that are not there":    "SELECT count(*) AS n FROM run WHERE machine_id NOT IN (SELECT id FROM machine)",
	"ceilings without a unit":                "SELECT count(*) AS n FROM ceiling WHERE unit IS NULL OR unit = ''",
	"readings of sensors that are no number": "SELECT count(*) AS n FROM telemetry WHERE isnan(value) OR isinf(value)",
}

// rowCounts is how many rows each table has.
func rowCounts(t *testing.T, store string) string {
	t.Helper()
	var parts []string
	for _, table := range []string{"machine", "ceiling", "run", "region", "launch", "counter", "code", "static_feature", "pc_sample", "telemetry", "attribute", "artefact"} {
		parts = append(parts, "SELECT '"+table+"' AS name, count(*) AS n FROM "+table)
	}
	out, errs, status := run(t, "", "query", "--store", store, strings.Join(parts, " UNION ALL ")+" ORDER BY name")
	if status != 0 {
		t.Fatal(errs)
	}
	return out
}
