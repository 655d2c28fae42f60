package ncu

import (
	"slices"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// column names a column that is no metric.
type column int

const (
	colID column = iota
	colPID
	colProcess
	colHost
	colKernel
	colTime
	colContext
	colStream
	colBlock
	colGrid
	colDevice
	colCC
	colSection
	colMetricName
	colMetricUnit
	colMetricValue
	colRuleName
	colRuleType
	colRuleText
	colSpeedupType
	colSpeedup
	colInvocations
	colMinimum
	colMaximum
	colAverage
	numColumns
)

var columns = map[string]column{
	"ID": colID, "Process ID": colPID, "Process Name": colProcess, "Host Name": colHost, "Kernel Name": colKernel,
	"Kernel Time": colTime, "Context": colContext, "Stream": colStream, "Block Size": colBlock, "Grid Size": colGrid,
	"Device": colDevice, "CC": colCC, "Section Name": colSection, "Metric Name": colMetricName,
	"Metric Unit": colMetricUnit, "Metric Value": colMetricValue, "Rule Name": colRuleName, "Rule Type": colRuleType,
	"Rule Description": colRuleText, "Estimated Speedup Type": colSpeedupType, "Estimated Speedup": colSpeedup,
	"Invocations": colInvocations, "Minimum": colMinimum, "Maximum": colMaximum, "Average": colAverage,
}

// table is a header: where each column is.
type table struct {
	sep     byte
	quoted  bool
	cells   []field
	at      [numColumns]int // index, -1 where there is none
	nvtx    []int           // columns of NVTX ranges
	metrics []int           // columns of metrics, in the raw page
	// instances tell metrics apart that are there several times: "", "#2", ...
	instances []string
	twice     *field // a known column that is there twice
}

func (t *table) col(c column) int { return t.at[c] }

// long reports whether the table has a row per metric.
func (t *table) long() bool {
	return t.at[colMetricName] >= 0 || t.at[colMetricValue] >= 0 || t.at[colMetricUnit] >= 0
}

// summary reports whether the table has a row per metric and kernel, with the
// values of all launches together.
func (t *table) summary() bool {
	return t.at[colMetricName] >= 0 && t.at[colMetricValue] < 0 && t.at[colAverage] >= 0
}

// wide reports whether the table has a row per launch.
func (t *table) wide() bool { return !t.long() && len(t.metrics) > 0 && t.at[colKernel] >= 0 }

// asHeader reads a line as the header of a table, nil where it is none: where
// it holds less than three of the columns that ncu writes. Spreadsheets of
// some countries separate cells by semicolons.
func asHeader(line string) *table {
	if !strings.Contains(line, "Kernel Name") && !strings.Contains(line, "Metric ") && !strings.Contains(line, "Process ") {
		return nil
	}
	// An application's last line without an end runs into the header.
	if i := strings.Index(line, `"ID",`); i > 0 && line[i-1] != ',' {
		line = line[i:]
	}
	for _, sep := range []byte{',', ';', '\t'} {
		fields, err := split(line, sep, nil)
		if err != nil {
			continue
		}
		t := &table{sep: sep, cells: fields, quoted: fields[0].quoted}
		for i := range t.at {
			t.at[i] = -1
		}
		known := 0
		var others []int
		for i := range fields {
			f := &fields[i]
			f.text = strings.TrimSpace(f.text)
			c, ok := columns[f.text]
			switch {
			case ok && t.at[c] >= 0:
				t.twice = f
			case ok:
				t.at[c] = i
				known++
			case strings.Contains(f.text, "Push/Pop_Range") || strings.Contains(f.text, "Start/Stop_Range"):
				t.nvtx = append(t.nvtx, i)
			case strings.Contains(f.text, "__"):
				t.metrics = append(t.metrics, i)
			case f.text != "":
				others = append(others, i)
			}
		}
		if known >= 3 {
			// Some metrics of the raw page have names without "__", such as
			// inst_executed and memory_l2_theoretical_sectors_global.
			if len(t.metrics) > 0 && !t.long() {
				t.metrics = append(t.metrics, others...)
				slices.Sort(t.metrics)
			}
			times := map[string]int{}
			for _, i := range t.metrics {
				name, instance := fields[i].text, ""
				if times[name]++; times[name] > 1 {
					instance = "#" + itoa(times[name])
				}
				t.instances = append(t.instances, instance)
			}
			return t
		}
	}
	return nil
}

// check says what a header lacks.
func (t *table) check(in *collectors.Input, line int) error {
	fail := func(column int, msg, expected, hint string) error {
		e := in.Syntax(line, column, msg)
		e.Expected, e.Hint = expected, hint
		return e
	}
	if t.twice != nil {
		return fail(t.twice.column, "the header has the column "+collectors.Quote(t.twice.text)+" twice", "", "")
	}
	last := t.cells[len(t.cells)-1].column
	var need []column
	switch {
	case t.summary():
		need = []column{colKernel, colMetricName, colMetricUnit}
	case t.long():
		need = []column{colKernel, colMetricName, colMetricUnit, colMetricValue}
	case t.at[colSection] >= 0 && len(t.metrics) == 0:
		need = []column{colMetricName, colMetricUnit, colMetricValue}
	case len(t.metrics) == 0:
		return fail(last, "the header has neither a column of metric names nor columns of metrics", `"Metric Name", "Metric Unit" and "Metric Value", or metrics such as "gpu__time_duration.sum"`,
			"export the profile again: ncu --csv --page raw")
	default:
		need = []column{colKernel}
	}
	for _, c := range need {
		if t.at[c] < 0 {
			name := ""
			for n, k := range columns {
				if k == c {
					name = n
				}
			}
			return fail(last, "the header lacks a column", collectors.Quote(name), "export the profile again: ncu --csv")
		}
	}
	return nil
}
