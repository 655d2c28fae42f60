package smi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

// words cuts a line of dmon at blanks, or at commas (dmon --format csv).
func words(line string, n int) []delimited.Cell {
	var cells []delimited.Cell
	from := -1
	for i := 0; i <= len(line); i++ {
		if i == len(line) || strings.IndexByte(" \t,", line[i]) >= 0 {
			if from >= 0 {
				cells = append(cells, delimited.Cell{Text: line[from:i], Line: n, Column: from + 1})
				from = -1
			}
		} else if from < 0 {
			from = i
		}
	}
	return cells
}

// titles cuts one of dmon's two lines of titles: "# gpu pwr ..." and, with -o,
// "#Date Time gpu ...".
func titles(line string, n int) []delimited.Cell {
	rest, ok := strings.CutPrefix(line, "#")
	if !ok {
		return nil
	}
	return words(rest, n)
}

func isDmon(line string) bool {
	known, gpu := 0, false
	for _, c := range titles(line, 1) {
		gpu = gpu || c.Text == "gpu"
		if _, ok := dmonColumns[c.Text]; ok {
			known++
		}
	}
	return gpu && known > 0 && !isPmon(line)
}

// dmon reads nvidia-smi dmon. Its rows have times only with -o T or DT; else
// readings are a second apart, as dmon takes them if it is not told otherwise.
func (l *log) dmon() error {
	var head []delimited.Cell
	units := map[string]string{}
	count := map[int64]int64{}
	untitled := false
	day, lastTime := int64(0), int64(-1)
	err := l.each(func(text string) error {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if strings.HasPrefix(text, "#") {
			if l.cut(text) {
				return nil
			}
			if isDmon(text) {
				head, untitled = titles(text, l.r.Line), true
				return nil
			}
			if cells := titles(text, l.r.Line); untitled && len(cells) == len(head) {
				for i, c := range cells {
					units[head[i].Text] = c.Text
				}
				untitled = false
			}
			return nil
		}
		if head == nil {
			l.once("noise", "lines before the table were left out: %s", collectors.Quote(text))
			return nil
		}
		if l.cut(text) {
			return nil
		}
		row := words(text, l.r.Line)
		if len(row) != len(head) {
			if len(row) > 0 && !strings.ContainsAny(row[0].Text, "0123456789") {
				l.out.Warn(l.r.Line, 1, "a line among the rows is no row and was left out: %s", collectors.Quote(text))
				return nil
			}
			return l.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(head)), strconv.Itoa(len(row)))
		}
		l.rows++
		var gpu, t int64
		date, clock := "", ""
		for i, h := range head {
			switch strings.ToLower(h.Text) {
			case "gpu":
				n, err := strconv.ParseInt(row[i].Text, 10, 32)
				if err != nil || n < 0 {
					return l.r.Fault(row[i], "the index of the GPU is no number", "a number")
				}
				gpu = n
			case "date":
				date = row[i].Text
			case "time":
				clock = row[i].Text
			}
		}
		switch {
		case date != "" && clock != "":
			ns, _, _, ok := when(date+" "+clock, "date")
			if !ok {
				return l.r.Fault(row[0], "the time of the row is none", "20060102 15:04:05")
			}
			t = ns
			if err := l.begin(ns, true, false); err != nil {
				return err
			}
		case clock != "":
			ns, _, _, ok := when("20010101 "+clock, "date")
			if !ok {
				return l.r.Fault(row[0], "the time of the row is none", "15:04:05")
			}
			if ns < lastTime {
				day++ // past midnight
			}
			lastTime = ns
			const y2001 = 978307200e9
			t = ns - y2001 + day*86400e9
			if err := l.about("t_ns", "since midnight of the first day, which the file does not tell"); err != nil {
				return err
			}
		default:
			t = count[gpu] * 1e9
			count[gpu]++
			l.once("time", "the rows have no times: readings are taken as a second apart, dmon's default (dmon -o DT writes times)")
			if err := l.about("t_ns", "the number of the reading, taken as a second apart: the file has no times"); err != nil {
				return err
			}
		}
		for i, h := range head {
			s, ok := dmonColumns[h.Text]
			if !ok {
				if k := strings.ToLower(h.Text); k != "gpu" && k != "date" && k != "time" {
					s = sensor{"dmon." + h.Text, plain, instant} // a column of a newer driver, or --gpm-metrics
					ok = true
				}
			}
			if !ok {
				continue
			}
			if said := units[h.Text]; said != "" {
				u, known := unitOf(said)
				if known {
					s.unit = u
				}
				if known && (u.Base == "V" || u.Base == "s") {
					s.kind = average
				}
			}
			if err := l.reading(gpu, s, t, row[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if head == nil {
		e := l.in.Syntax(max(l.r.Line, 1), 1, "there is no header of nvidia-smi dmon")
		e.Expected = `"# gpu   pwr  gtemp ..."`
		return e
	}
	return l.finish()
}
