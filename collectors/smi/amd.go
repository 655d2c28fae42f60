package smi

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

var (
	milliVolts = collectors.Unit{Base: "V", Exp10: -3}
	bytesOf    = collectors.Unit{Base: "byte"}
	joules     = collectors.Unit{Base: "J"}
)

// rocmTitles are those of rocm-smi, as CSV and as JSON. Its "use" is a share of
// time; which of the two powers there is depends on the GPU.
var rocmTitles = map[string]sensor{
	"GPU use (%)": {"utilization", percent, average}, "GPU memory use (%)": {"utilization.memory", percent, average},
	"GPU Memory Read/Write Activity (%)": {"utilization.memory", percent, average}, "GPU Memory Allocated (VRAM%)": {"memory.allocated", percent, instant},
	"Average Graphics Package Power (W)": {"power", watts, average}, "Current Socket Graphics Package Power (W)": {"power", watts, instant}, "Max Graphics Package Power (W)": {"power.limit", watts, instant},
	"Temperature (Sensor edge) (C)": {"temperature", celsius, instant}, "Temperature (Sensor junction) (C)": {"temperature.hotspot", celsius, instant}, "Temperature (Sensor memory) (C)": {"temperature.memory", celsius, instant},
	"VRAM Total Memory (B)": {"memory.total", bytesOf, instant}, "VRAM Total Used Memory (B)": {"memory.used", bytesOf, instant},
	"sclk clock speed:": {"clock.sm", mega, instant}, "mclk clock speed:": {"clock.memory", mega, instant}, "fclk clock speed:": {"clock.fabric", mega, instant}, "socclk clock speed:": {"clock.soc", mega, instant},
	"Voltage (mV)": {"voltage", milliVolts, instant}, "Fan speed (%)": {"fan", percent, instant}, "PCIe Replay Count": {"pcie.replays", plain, cumulative},
	"Accumulated Energy (uJ)": {"energy", collectors.Unit{Base: "J", Exp10: -6}, cumulative},
}

// amdNames are those of amd-smi: columns of metric --csv and of monitor --csv,
// and where JSON has a value, "power.socket_power". Its MB are 1,048,576 bytes.
// Its power is of the socket at the time; before MI300 it is an average.
var amdNames = map[string]sensor{
	"gfx_activity": {"utilization", percent, average}, "umc_activity": {"utilization.memory", percent, average}, "mm_activity": {"utilization.media", percent, average},
	"socket_power": {"power", watts, instant}, "power_usage": {"power", watts, instant}, "max_power": {"power.limit", watts, instant},
	"gfx_voltage": {"voltage", milliVolts, instant}, "soc_voltage": {"voltage.soc", milliVolts, instant}, "mem_voltage": {"voltage.memory", milliVolts, instant},
	"gfx_0_clk": {"clock.sm", mega, instant}, "mem_0_clk": {"clock.memory", mega, instant}, "gfx_clk": {"clock.sm", mega, instant}, "mem_clock": {"clock.memory", mega, instant},
	"fclk_0_clk": {"clock.fabric", mega, instant}, "socclk_0_clk": {"clock.soc", mega, instant},
	"edge": {"temperature", celsius, instant}, "hotspot": {"temperature.hotspot", celsius, instant}, "hotspot_temperature": {"temperature.hotspot", celsius, instant}, "memory_temperature": {"temperature.memory", celsius, instant},
	"total_vram": {"memory.total", mebi, instant}, "used_vram": {"memory.used", mebi, instant}, "free_vram": {"memory.free", mebi, instant},
	"total_energy_consumption": {"energy", joules, cumulative},
	"temperature.mem":          {"temperature.memory", celsius, instant}, "gfx_0.clk": {"clock.sm", mega, instant}, "mem_0.clk": {"clock.memory", mega, instant}, "fclk_0.clk": {"clock.fabric", mega, instant}, "socclk_0.clk": {"clock.soc", mega, instant},
}

// amdSensor finds the sensor of a title of either tool; path is the place in
// JSON, whose last part or two are looked up.
func (l *log) amdSensor(path string) (sensor, bool) {
	if l.run.Tool == "rocm-smi" {
		s, ok := rocmTitles[path]
		return s, ok
	}
	for range 3 {
		if s, ok := amdNames[path]; ok {
			return s, true
		}
		_, rest, more := strings.Cut(path, ".")
		if !more {
			break
		}
		path = rest
	}
	return sensor{}, false
}

func detectRocmCSV(h collectors.Head) collectors.Confidence {
	for _, line := range lines(h, 20) {
		if !strings.HasPrefix(strings.ToLower(line), "device,") {
			continue
		}
		if head := asHeader(line); head != nil {
			for _, c := range head.Cells {
				if _, ok := rocmTitles[c.Text]; ok {
					return collectors.Certain
				}
			}
		}
	}
	return collectors.No
}

func detectAmdCSV(h collectors.Head) collectors.Confidence { return among(h, 20, amdHeader) }

// amdHeader tells a header of amd-smi: a column gpu and two that it names.
func amdHeader(line string) bool {
	if !strings.Contains(line, "gpu,") {
		return false
	}
	head := asHeader(line)
	if head == nil || len(head.Cells) < 3 || head.Cells[0].Text != "gpu" && head.Cells[1].Text != "gpu" {
		return false
	}
	known := 0
	for _, c := range head.Cells {
		if _, ok := amdNames[c.Text]; ok && strings.Contains(c.Text, "_") {
			known++
		}
	}
	return known > 1
}

var card = regexp.MustCompile(`"card\d+"\s*:\s*\{`)

func detectRocmJSON(h collectors.Head) collectors.Confidence {
	if !bytes.HasPrefix(bytes.TrimLeft(h.Bytes, " \t\r\n"), []byte("{")) || !h.Has(`"card`) || !card.Match(h.Bytes) {
		return collectors.No
	}
	for title := range rocmTitles {
		if h.Has(strconv.Quote(title)) {
			return collectors.Certain
		}
	}
	return collectors.No
}

func detectAmdJSON(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if len(b) == 0 || b[0] != '{' && b[0] != '[' || !h.Has(`"gpu"`) {
		return collectors.No
	}
	if h.Has(`"gfx_activity"`, `"socket_power"`, `"umc_activity"`) && h.Has(`"value"`, `"N/A"`) {
		return collectors.Certain
	}
	return collectors.No
}

// amdCSV reads tables, one below the other where the tool ran again and again.
func (l *log) amdCSV() error {
	rocm := l.run.Tool == "rocm-smi"
	var head []delimited.Cell
	count := map[int64]int64{}
	tables := map[string]int64{}
	number := int64(0)
	err := l.each(func(text string) error {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if l.cut(text) {
			return nil
		}
		if rocm && strings.HasPrefix(strings.ToLower(text), "device,") || !rocm && amdHeader(text) {
			cells, err := l.r.Cells(text)
			head = cells
			number = tables[text] // the table of another option has other titles
			tables[strings.Clone(text)]++
			return err
		}
		if head == nil || rocm && !strings.HasPrefix(text, "card") {
			l.once("noise", "lines that are no rows were left out: %s", collectors.Quote(text))
			return nil
		}
		row, err := l.r.Cells(text)
		if err != nil {
			return err
		}
		if len(row) != len(head) {
			return l.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(head)), strconv.Itoa(len(row)))
		}
		l.rows++
		return l.amdRow(head, row, count, number)
	})
	if err != nil {
		return err
	}
	if head == nil {
		e := l.in.Syntax(max(l.r.Line, 1), 1, "there is no header of "+l.run.Tool)
		e.Expected, e.Hint = "device,GPU use (%),...", "write it with rocm-smi --showuse --showpower --showtemp --csv > FILE"
		if !rocm {
			e.Expected, e.Hint = "timestamp,gpu,gfx_activity,...", "write it with amd-smi metric --csv > FILE"
		}
		return e
	}
	return l.finish()
}

// amdRow puts the readings of a GPU. table is how often its header was there
// before; count counts rows of GPUs below one header that have no time.
func (l *log) amdRow(head, row []delimited.Cell, count map[int64]int64, table int64) error {
	gpu, t, timed := int64(-1), int64(0), false
	for i, h := range head {
		switch strings.ToLower(h.Text) {
		case "device", "gpu":
			n, err := strconv.ParseInt(strings.TrimPrefix(row[i].Text, "card"), 10, 32)
			if err != nil || n < 0 {
				return l.r.Fault(row[i], "the index of the GPU is no number", "a number")
			}
			gpu = n
		case "timestamp":
			ns, date, zone, ok := when(row[i].Text, "date")
			if !ok {
				return l.r.Fault(row[i], "the time of the row is none", "seconds since 1970")
			}
			t, timed = ns, true
			if err := l.begin(ns, date, zone); err != nil {
				return err
			}
		}
	}
	if !timed {
		if l.run.Tool == "amd-smi" {
			table = count[gpu]
			count[gpu]++
		}
		t = table * 1e9
		if err := l.untimed(t); err != nil {
			return err
		}
	}
	for i, h := range head {
		switch strings.ToLower(h.Text) {
		case "device", "gpu", "timestamp":
			continue
		}
		if err := l.amdValue(gpu, columnOf(h.Text, head), t, row[i]); err != nil {
			return err
		}
	}
	return nil
}

// columnOf tells apart what metric and monitor call by one name: mem is a
// temperature beside hotspot, and a share of time beside power_usage.
func columnOf(title string, head []delimited.Cell) string {
	if title != "mem" && title != "gfx" {
		return title
	}
	for _, h := range head {
		switch {
		case h.Text == "hotspot" && title == "mem":
			return "temperature.mem"
		case h.Text == "power_usage", h.Text == "hotspot_temperature":
			return map[string]string{"mem": "umc_activity", "gfx": "gfx_activity"}[title]
		}
	}
	return title
}

// untimed notes that readings have no times.
func (l *log) untimed(t int64) error {
	if t == 0 {
		return nil
	}
	l.once("time", "the listings have no times: they are taken as a second apart")
	return l.about("t_ns", "the number of the listing, taken as a second apart: the file has no times")
}

// amdValue puts one reading, or a fact where the title is of no sensor.
func (l *log) amdValue(gpu int64, title string, t int64, c delimited.Cell) error {
	s, ok := l.amdSensor(title)
	if !ok {
		switch title {
		case "Card Series", "Card series", "Card model", "Card Model", "asic.market_name":
			l.names[gpu] = c.Text
			if l.machine.GPU == "" || title == "Card Series" {
				l.machine.GPU = c.Text
			}
		case "GFX Version":
			l.machine.Arch = c.Text
		}
		return l.fact(gpu, strings.TrimRight(title, ":"), c.Text)
	}
	c.Text = strings.Trim(c.Text, "()")
	switch n := len(c.Text) - len("Mhz"); {
	case s.unit == mega && n > 0 && strings.EqualFold(c.Text[n:], "Mhz"):
		c.Text = strings.TrimRight(c.Text[:n], " ")
	case s.unit == percent:
		c.Text = strings.TrimRight(strings.TrimSuffix(c.Text, "%"), " ")
	}
	return l.reading(gpu, s, t, c)
}
