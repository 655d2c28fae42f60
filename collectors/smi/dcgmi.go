package smi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

// entityColumns is how many words begin a row of dcgmi dmon: "GPU 0".
const entityColumns = 2

func detectDcgmi(h collectors.Head) collectors.Confidence {
	return among(h, 20, func(line string) bool { return dcgmiTitles(line, 1) != nil })
}

// dcgmiTitles cuts the line of titles, "#Entity  GRACT  SMACT": the tags
// behind the first word, nil where the line is another.
func dcgmiTitles(line string, n int) []delimited.Cell {
	if !strings.HasPrefix(line, "#") || !strings.Contains(line, "Entity") {
		return nil
	}
	cells := titles(line, n)
	if len(cells) < 2 || cells[0].Text != "Entity" {
		return nil
	}
	for i := range cells {
		cells[i].Column++ // of the "#"
	}
	return cells[1:]
}

// dcgmi reads dcgmi dmon: a line of tags, one that begins with ID and has the
// units of some, and a row per entity and reading. There are no times: readings
// are a second apart if dcgmi is not told otherwise (-d).
func (l *log) dcgmi() error {
	var head []delimited.Cell
	units := map[string]collectors.Unit{}
	count := map[string]int64{}
	err := l.each(func(text string) error {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if l.cut(text) {
			return nil
		}
		if cells := dcgmiTitles(text, l.r.Line); cells != nil {
			head = cells
			return nil
		}
		row := words(text, l.r.Line)
		switch {
		case len(row) == 0, strings.HasPrefix(text, "#"):
			return nil
		case head == nil:
			l.once("noise", "lines before the table were left out: %s", collectors.Quote(text))
			return nil
		case row[0].Text == "ID":
			for _, c := range row[1:] {
				for i := len(head) - 1; i >= 0; i-- {
					if head[i].Column <= c.Column {
						if u, ok := unitOf(strings.Trim(c.Text, "()")); ok {
							units[head[i].Text] = u
						}
						break
					}
				}
			}
			return nil
		}
		e, ok := asEntity(row)
		if !ok {
			l.out.Warn(l.r.Line, 1, "a line among the rows is no row and was left out: %s", collectors.Quote(text))
			return nil
		}
		if row = asNamed(row, head); len(row) != len(head)+entityColumns {
			return l.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(head)+entityColumns), strconv.Itoa(len(row)))
		}
		l.rows++
		t := count[e.name] * 1e9
		count[e.name]++
		l.once("time", "the rows have no times: readings are taken as a second apart, the default of dcgmi dmon (-d)")
		if err := l.about("t_ns", "the number of the reading, taken as a second apart: the file has no times"); err != nil {
			return err
		}
		for i, h := range head {
			c := row[i+entityColumns]
			if h.Text == deviceName {
				l.names[e.gpu] = c.Text
				if l.machine.GPU == "" {
					l.machine.GPU = c.Text
				}
				if err := l.about(e.name+".name", c.Text); err != nil {
					return err
				}
				continue
			}
			s, known := fieldNamed("", h.Text)
			if !known {
				s = sensor{"dcgm." + strings.ToLower(h.Text), units[h.Text], instant}
			}
			if means, ok := blank(c.Text); ok {
				c.Text = "N/A, " + means
			}
			if err := l.readingOf(e, s, t, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if head == nil {
		e := l.in.Syntax(max(l.r.Line, 1), 1, "there is no header of dcgmi dmon")
		e.Expected, e.Hint = `"#Entity   GRACT   SMACT ..."`, "write it with dcgmi dmon -e 155,100,1002,1004,1005 > FILE"
		return e
	}
	return l.finish()
}

// deviceName is the tag of the only field whose text has blanks.
const deviceName = "DVNAM"

// asNamed joins the words of the device's name, where there is one.
func asNamed(row, head []delimited.Cell) []delimited.Cell {
	more := len(row) - entityColumns - len(head)
	for i, h := range head {
		if at := i + entityColumns; h.Text == deviceName && more > 0 {
			var name []string
			for _, c := range row[at : at+more+1] {
				name = append(name, c.Text)
			}
			joined := row[at]
			joined.Text = strings.Join(name, " ")
			return append(append(append([]delimited.Cell(nil), row[:at]...), joined), row[at+more+1:]...)
		}
	}
	return row
}

// asEntity reads "GPU 0", "GPU-I 3" (an instance of MIG), "Switch 1".
func asEntity(row []delimited.Cell) (entity, bool) {
	if len(row) < entityColumns {
		return entity{}, false
	}
	kind := strings.ToLower(row[0].Text)
	n, err := strconv.ParseInt(row[1].Text, 10, 32)
	if err != nil || n < 0 || kind[0] < 'a' || kind[0] > 'z' || strings.ContainsAny(kind, ".:") {
		return entity{}, false
	}
	e := entity{name: kind + strconv.FormatInt(n, 10), gpu: -1}
	if kind == "gpu" {
		e.gpu = n
	}
	return e, true
}
