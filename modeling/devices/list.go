package devices

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
)

// List is devices to show together.
type List []Device

// Frame is the whole table as a dataframe: see List.Frame.
func Frame() dataframe.DataFrame { return All().Frame() }

// Frame is a row for each device: name, kind, vendor, family, isa, unit, units,
// warp, clock_hz, memory_bytes, l1_bytes (of a unit), l2_bytes, l3_bytes, watt,
// max_threads, max_blocks, registers, shared_bytes, shared_block_bytes (all of a
// unit), then a column for each precision (flop/s or op/s) and level (byte/s),
// named as in the store, and source. What is not known is NaN.
func (l List) Frame() dataframe.DataFrame {
	var cols []series.Series
	text := func(name string, of func(Device) string) {
		vs := make([]string, len(l))
		for i, d := range l {
			vs[i] = of(d)
		}
		cols = append(cols, series.New(vs, series.String, name))
	}
	number := func(name string, of func(Device) float64) {
		vs := make([]float64, len(l))
		for i, d := range l {
			vs[i] = of(d)
		}
		cols = append(cols, series.New(vs, series.Float, name))
	}
	count := func(name string, of func(Device) datasets.Null[int64]) {
		number(name, func(d Device) float64 {
			if n := of(d); n.Valid {
				return float64(n.V)
			}
			return math.NaN()
		})
	}
	text("name", func(d Device) string { return d.Name })
	text("kind", func(d Device) string { return d.Kind.String() })
	text("vendor", func(d Device) string { return d.Vendor })
	text("family", func(d Device) string { return d.Family })
	text("isa", func(d Device) string { return d.ISA })
	text("unit", func(d Device) string { return d.Unit })
	number("units", func(d Device) float64 { return float64(d.Units) })
	number("warp", func(d Device) float64 { return float64(d.Warp) })
	number("clock_hz", Device.ClockHz)
	count("memory_bytes", func(d Device) datasets.Null[int64] { return d.MemBytes })
	count("l1_bytes", func(d Device) datasets.Null[int64] { return d.L1Bytes })
	count("l2_bytes", func(d Device) datasets.Null[int64] { return d.L2Bytes })
	count("l3_bytes", func(d Device) datasets.Null[int64] { return d.L3Bytes })
	number("watt", func(d Device) float64 { return d.Watt.Or(math.NaN()) })
	count("max_threads", func(d Device) datasets.Null[int64] { return d.MaxThreads })
	count("max_blocks", func(d Device) datasets.Null[int64] { return d.MaxBlocks })
	count("registers", func(d Device) datasets.Null[int64] { return d.Registers })
	count("shared_bytes", func(d Device) datasets.Null[int64] { return d.SharedBytes })
	count("shared_block_bytes", func(d Device) datasets.Null[int64] { return d.SharedBlockBytes })
	value := func(v Value, ok bool) float64 {
		if !ok {
			return math.NaN()
		}
		return v.Value
	}
	for _, p := range Precisions {
		number(string(p), func(d Device) float64 { return value(d.Peak(p)) })
	}
	for _, lv := range Levels {
		number(string(lv), func(d Device) float64 { return value(d.Bandwidth(lv)) })
	}
	text("source", func(d Device) string { return d.Source })
	return dataframe.New(cols...)
}

// String is the table as text, peaks in TFLOP/s and bandwidths in TB/s.
func (l List) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-50s %-9s %6s %6s %8s %8s %8s %8s %8s", "", "arch", "units", "GHz", "FP64", "FP32", "tensor16", "DRAM", "L2")
	for _, d := range l {
		fmt.Fprintf(&b, "\n%-50s %-9s %6d", d.Name, d.ISA, d.Units)
		for _, c := range d.cells() {
			fmt.Fprintf(&b, " %*s", c.width, c.text)
		}
	}
	return b.String()
}

type cell struct {
	text  string
	width int
}

// cells are the numbers of a device's line.
func (d Device) cells() []cell {
	peak := func(p Precision) cell {
		v, ok := d.Peak(p)
		return cell{tera(v, ok), 8}
	}
	band := func(l Level) cell {
		v, ok := d.Bandwidth(l)
		return cell{tera(v, ok), 8}
	}
	clock := cell{"-", 6}
	if hz := d.ClockHz(); hz > 0 {
		clock.text = fmt.Sprintf("%.4g", hz/1e9)
	}
	return []cell{clock, peak(FP64), peak(FP32), peak(TensorFP16), band(DRAM), band(L2)}
}

func tera(v Value, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.4g", v.Value/1e12)
}

// tunit is a unit for values in 1e12.
func tunit(unit string) string {
	switch unit {
	case "byte/s":
		return "TB/s"
	case "flop/s":
		return "TFLOP/s"
	case "op/s":
		return "TOP/s"
	}
	return "1e12 " + unit
}

// String is the device with its limits as text.
func (d Device) String() string {
	if d.Name == "" { // what Find returns beside an error
		return "no device"
	}
	var b strings.Builder
	b.WriteString(d.title())
	for _, l := range d.Limits() {
		fmt.Fprintf(&b, "\n  %-12s %10.4g %-7s %s; %s", l.Name, l.Value.Value, l.Unit, l.How, l.Source)
	}
	if d.Note != "" {
		b.WriteString("\n  " + d.Note)
	}
	return b.String()
}

func (d Device) title() string {
	s := fmt.Sprintf("%s: %s %s", d.Name, d.Vendor, d.Family)
	if d.ISA != "" {
		s += " (" + d.ISA + ")"
	}
	s += fmt.Sprintf(", %d %ss", d.Units, d.Unit)
	if d.Kind == CPU {
		s += " (one socket)"
	}
	if hz := d.ClockHz(); hz > 0 {
		s += fmt.Sprintf(" at %.4g GHz", hz/1e9)
	}
	if len(d.Same) > 0 {
		s += "; fits " + strings.Join(d.Same, ", ") + " as well, with the same limits"
	}
	return s
}

const (
	tableStyle = `style="border-collapse:collapse;color:inherit;background:transparent"`
	cellStyle  = `style="padding:.1em .7em;border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top;text-align:`
)

// html writes a table; a head that begins with "<" makes a column aligned left.
func html(b *strings.Builder, heads []string, rows [][]string) {
	fmt.Fprintf(b, "<table %s><tr>", tableStyle)
	align := make([]string, len(heads))
	for i, h := range heads {
		align[i] = "right"
		if left, ok := strings.CutPrefix(h, "<"); ok {
			h, align[i] = left, "left"
		}
		fmt.Fprintf(b, `<th %s%s">%s</th>`, cellStyle, align[i], display.Escape(h))
	}
	b.WriteString("</tr>")
	for _, row := range rows {
		b.WriteString("<tr>")
		for i, v := range row {
			wrap := "" // the last column alone holds long texts
			if i < len(row)-1 {
				wrap = ";white-space:nowrap"
			}
			fmt.Fprintf(b, `<td %s%s%s">%s</td>`, cellStyle, align[i], wrap, display.Escape(v))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
}

// Display shows the table: a line for each device.
func (l List) Display() display.Bundle {
	rows := make([][]string, len(l))
	for i, d := range l {
		rows[i] = []string{d.Name, strings.TrimSpace(d.Family + " " + d.ISA), fmt.Sprintf("%d %s", d.Units, d.Unit)}
		for _, c := range d.cells() {
			rows[i] = append(rows[i], c.text)
		}
	}
	var b strings.Builder
	html(&b, []string{"<device", "<architecture", "units", "GHz", "FP64 TFLOP/s", "FP32 TFLOP/s", "tensor FP16 TFLOP/s", "DRAM TB/s", "L2 TB/s"}, rows)
	return display.Bundle{Data: map[string]any{"text/plain": l.String(), "text/html": b.String()}}
}

// Display shows the device: each limit with its arithmetic, the vendor's own
// figure and the documents.
func (d Device) Display() display.Bundle {
	if d.Name == "" {
		return display.Bundle{Data: map[string]any{"text/plain": d.String()}}
	}
	var b strings.Builder
	b.WriteString(`<div style="color:inherit">` + display.Escape(d.title()))
	if d.Note != "" {
		b.WriteString("<br>" + display.Escape(d.Note))
	}
	var rows [][]string
	for _, l := range d.Limits() {
		printed := "-"
		if l.Printed > 0 {
			printed = fmt.Sprintf("%.4g", l.Printed/1e12)
		}
		rows = append(rows, []string{l.Name, fmt.Sprintf("%.4g", l.Value.Value/1e12), tunit(l.Unit), printed, l.How, l.Source})
	}
	html(&b, []string{"<limit", "value", "<", "printed", "<how", "<source"}, rows)
	b.WriteString("</div>")
	return display.Bundle{Data: map[string]any{"text/plain": d.String(), "text/html": b.String()}}
}

// String is the machine with its ceilings as text.
func (m *Machine) String() string {
	var b strings.Builder
	b.WriteString(m.title())
	for _, c := range m.Ceilings {
		fmt.Fprintf(&b, "\n  %-12s %-11s %10.4g %-7s %s", c.Name, c.Origin, c.Value.Value, c.Unit, c.Source)
	}
	return b.String()
}

func (m *Machine) title() string {
	s := fmt.Sprintf("run %d: ", m.Run)
	if m.Unknown != nil {
		return s + m.Unknown.Error()
	}
	s += m.Device.title()
	if len(m.Differs) > 0 {
		s += "; but " + strings.Join(m.Differs, "; ")
	}
	return s
}

// Display shows the machine's ceilings, the three origins apart.
func (m *Machine) Display() display.Bundle {
	var b strings.Builder
	b.WriteString(`<div style="color:inherit">` + display.Escape(m.title()))
	var rows [][]string
	for _, c := range m.Ceilings {
		clock := "-"
		if c.ClockHz > 0 {
			clock = fmt.Sprintf("%.4g", c.ClockHz/1e9)
		}
		rows = append(rows, []string{c.Name, string(c.Origin), fmt.Sprintf("%.4g", c.Value.Value/1e12), tunit(c.Unit), clock, c.Source})
	}
	html(&b, []string{"<limit", "<origin", "value", "<", "GHz", "<source"}, rows)
	b.WriteString("</div>")
	return display.Bundle{Data: map[string]any{"text/plain": m.String(), "text/html": b.String()}}
}
