package nsys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// The same two tables in the three forms that nsys stats writes for programs.
const (
	twoCSV = `Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,9000,3,3000.0,2900.0,2800,3300,264.6,"void ns::axpy<float, 4>(float const*, int)"
25.0,3000,1,3000.0,3000.0,3000,3000,nan,fill(int)

Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
8.389,2,4.194,4.194,4.194,4.194,0.0,[CUDA memcpy Host-to-Device]
`
	twoJSON = `[
 {"Time (%)": 75.0, "Total Time (ns)": 9000, "Instances": 3, "Avg (ns)": 3000.0, "Med (ns)": 2900.0, "Min (ns)": 2800, "Max (ns)": 3300, "StdDev (ns)": 264.6, "Name": "void ns::axpy<float, 4>(float const*, int)"},
 {"Time (%)": 25.0, "Total Time (ns)": 3000, "Instances": 1, "Avg (ns)": 3000.0, "Med (ns)": 3000.0, "Min (ns)": 3000, "Max (ns)": 3000, "StdDev (ns)": NaN, "Name": "fill(int)"}
]
[
 {"Total (MB)": 8.389, "Count": 2, "Avg (MB)": 4.194, "Med (MB)": 4.194, "Min (MB)": 4.194, "Max (MB)": 4.194, "StdDev (MB)": 0.0, "Operation": "[CUDA memcpy Host-to-Device]"}
]
`
)

func TestTheFormsOfATableSayTheSame(t *testing.T) {
	lines := strings.Split(twoCSV, "\n")
	for i, l := range lines {
		at := strings.IndexByte(l+`"`, '"')
		lines[i] = strings.ReplaceAll(l[:at], ",", "\t") + l[at:]
	}
	want := parsertest.MustParse(t, "nsys-csv", "x", twoCSV)
	for format, text := range map[string]string{"nsys-csv": strings.Join(lines, "\n"), "nsys-json": twoJSON} {
		f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(text), Whole: true})
		if f.Name != format || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", format, f.Name, sure, err)
		}
		r := parsertest.MustParse(t, format, "x", text)
		if fmt.Sprint(r.Regions) != fmt.Sprint(want.Regions) || len(r.Counters) != 2*8+7 {
			t.Errorf("%s: %+v, want %+v", format, r.Regions, want.Regions)
		}
		for i, c := range r.Counters {
			w := want.Counters[i]
			c.RawValue, w.RawValue = strings.ToLower(c.RawValue), strings.ToLower(w.RawValue) // NaN
			if c != w {
				t.Errorf("%s: %+v, want %+v", format, c, w)
			}
		}
		if v := r.Value("axpy", "Total Time"); v != datasets.Some(9e-6) || r.Runs[0].Format != format || r.Runs[0].TimeMetric != "Total Time" {
			t.Errorf("%s: %v %+v", format, v, r.Runs)
		}
	}
}

func TestTracesAsJSONAreLaunches(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-json", "x", `[{"Start (ns)": 2000, "Duration (ns)": 50, "CorrId": 7, "GrdX": 64, "GrdY": 1, "GrdZ": 1, "Device": "NVIDIA H100 PCIe (0)", "Name": "b(int)"},
{"Start (ns)": 1000, "Duration (ns)": 40, "CorrId": 6, "GrdX": null, "GrdY": null, "GrdZ": null, "Device": "NVIDIA H100 PCIe (0)", "Name": "a(int)"}]`)
	if l := r.Launches; len(l) != 2 || l[0].Sequence != datasets.Some(int64(1)) || l[0].DurNs != datasets.Some(int64(50)) || l[0].Grid[0] != datasets.Some(int64(64)) || l[1].Grid[0].Valid || r.Machines[0].GPU != "NVIDIA H100 PCIe" {
		t.Errorf("%+v %+v", l, r.Machines)
	}
}

func TestBrokenTablesAsJSONAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":         {"", 1, 1, "the file ends within a JSON value"},
		"an object":     {"{}", 1, 2, `expected a list of rows`},
		"no row":        {"[1]", 1, 3, "reading a row"},
		"other columns": {`[{"a": 1}]`, 1, 10, "of no report of nsys stats that is known"},
		"a list":        {"[\n{\"Name\": []}]", 2, 12, `the value of "Name" that ends here is no cell`},
		"other members": {`[{"Time (%)": 1, "Total Time (ns)": 2, "Instances": 1, "Name": "k"}, {"Name": "k"}]`, 1, 83, "other members than the first"},
		"a text":        {`[{"Time (%)": 1, "Total Time (ns)": "x", "Instances": 1, "Name": "k"}]`, 1, 40, "is no number"},
	} {
		parsertest.Refused(t, "nsys-json", name, c.text, c.line, c.col, c.msg)
	}
	parsertest.Truncations(t, "nsys-json", "x", strings.TrimSpace(twoJSON), 200)
}

func FuzzJSON(f *testing.F) { parsertest.Fuzz(f, "nsys-json", twoJSON, `[]`, `[{"Name": null}]`) }
