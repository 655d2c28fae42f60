package ncurep

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"path"
	"sort"
	"strings"
)

// lineRow says that the instructions from an offset of the section on come
// from a line.
type lineRow struct {
	offset uint64
	file   string
	line   int64
	end    bool // nothing is known from here on
}

// at finds the line of an instruction, at an offset within the function.
func (c *machineCode) at(offset uint64) (file string, line int64, ok bool) {
	offset += c.first
	i := sort.Search(len(c.lines), func(i int) bool { return c.lines[i].offset > offset })
	if i == 0 || c.lines[i-1].end || c.lines[i-1].line == 0 {
		return "", 0, false
	}
	return c.lines[i-1].file, c.lines[i-1].line, true
}

var errLines = errors.New("the table of lines (.debug_line) is cut or damaged")

// readLines reads .debug_line into the functions. Addresses in it are relative
// to a symbol of the section, which a relocation names.
func (c *cubin) readLines(f *elf.File, symbols []elf.Symbol, in map[int][]*placed) (fault string) {
	section := f.Section(".debug_line")
	if section == nil || section.Type != elf.SHT_PROGBITS {
		return ""
	}
	data, err := content(section)
	if err != nil {
		return err.Error()
	}
	t := &lineTable{data: data, targets: map[int]target{}}
	for _, name := range []string{".rel.debug_line", ".rela.debug_line"} {
		rel := f.Section(name)
		if rel == nil {
			continue
		}
		b, err := content(rel)
		if err != nil {
			return err.Error()
		}
		size := 16
		if rel.Type == elf.SHT_RELA {
			size = 24
		}
		for ; len(b) >= size; b = b[size:] {
			at, sym := binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:])>>32)
			if sym == 0 || sym > len(symbols) || at >= uint64(len(data)) {
				continue
			}
			s := symbols[sym-1] // Symbols leaves out the null symbol
			to := target{section: int(s.Section), value: s.Value}
			if rel.Type == elf.SHT_RELA {
				to.value += binary.LittleEndian.Uint64(b[16:])
			}
			t.targets[int(at)] = to
		}
	}
	for len(t.data) > t.at {
		if err := t.unit(); err != nil {
			return err.Error()
		}
	}
	for section, rows := range t.rows {
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].offset < rows[j].offset })
		from := func(offset uint64) int {
			return sort.Search(len(rows), func(i int) bool { return rows[i].offset >= offset })
		}
		for _, fn := range in[section] {
			fn.code.lines, fn.code.first = rows[from(fn.value):from(fn.value+fn.size)], fn.value
		}
	}
	return ""
}

// target is what a relocated address points to.
type target struct {
	section int
	value   uint64
}

// lineTable runs the line programs of DWARF, versions 2 to 4.
type lineTable struct {
	data    []byte
	at      int
	end     int // of the unit
	targets map[int]target
	rows    map[int][]lineRow // by section
}

func (t *lineTable) u(n int) (v uint64, err error) {
	if n > t.end-t.at {
		return 0, errLines
	}
	for i := range n {
		v |= uint64(t.data[t.at+i]) << (8 * i)
	}
	t.at += n
	return v, nil
}

func (t *lineTable) leb(signed bool) (int64, error) {
	v, shift := int64(0), 0
	for {
		b, err := t.u(1)
		if err != nil || shift > 63 {
			return 0, errLines
		}
		v |= int64(b&0x7f) << shift
		shift += 7
		if b&0x80 == 0 {
			if signed && b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v, nil
		}
	}
}

func (t *lineTable) string() (string, error) {
	i := bytes.IndexByte(t.data[t.at:t.end], 0)
	if i < 0 {
		return "", errLines
	}
	s := string(t.data[t.at : t.at+i])
	t.at += i + 1
	return s, nil
}

// lineHead is the header of a unit's line program.
type lineHead struct {
	minInst, lineRange, opcodeBase uint64
	lineBase                       int64
	lengths                        []uint64
	dirs, files                    []string
}

// unit reads one unit.
func (t *lineTable) unit() error {
	t.end = len(t.data)
	length, err := t.u(4)
	if err != nil || length > uint64(len(t.data)-t.at) {
		return errLines
	}
	t.end = t.at + int(length)
	version, err := t.u(2)
	if err != nil {
		return err
	}
	if version < 2 || version > 4 {
		t.at = t.end // version 5 is none that NVIDIA's compilers write
		return nil
	}
	h, err := t.head(version)
	if err != nil {
		return err
	}
	if t.rows == nil {
		t.rows = map[int][]lineRow{}
	}
	for t.at < t.end {
		if err := t.sequence(h); err != nil {
			return err
		}
	}
	return nil
}

func (t *lineTable) head(version uint64) (h lineHead, err error) {
	length, err := t.u(4)
	if err != nil || length > uint64(t.end-t.at) {
		return h, errLines
	}
	program := t.at + int(length)
	var skipped, base uint64
	fields := []*uint64{&h.minInst, &skipped, &base, &h.lineRange, &h.opcodeBase} // skipped: default_is_stmt
	if version >= 4 {
		fields = []*uint64{&h.minInst, &skipped, &skipped, &base, &h.lineRange, &h.opcodeBase} // and operations of a VLIW
	}
	for _, dst := range fields {
		if *dst, err = t.u(1); err != nil {
			return h, err
		}
	}
	h.lineBase = int64(int8(base))
	if h.lineRange == 0 || h.opcodeBase == 0 {
		return h, errLines
	}
	h.lengths = make([]uint64, h.opcodeBase)
	for i := 1; i < len(h.lengths); i++ {
		if h.lengths[i], err = t.u(1); err != nil {
			return h, err
		}
	}
	h.dirs = []string{""}
	for {
		dir, err := t.string()
		if err != nil {
			return h, err
		}
		if dir == "" {
			break
		}
		h.dirs = append(h.dirs, dir)
	}
	h.files = []string{""}
	for {
		name, err := t.file(h)
		if err != nil {
			return h, err
		}
		if name == "" {
			break
		}
		h.files = append(h.files, name)
	}
	if program < t.at {
		return h, errLines
	}
	t.at = program
	return h, nil
}

// file reads an entry of the table of files, "" at its end.
func (t *lineTable) file(h lineHead) (string, error) {
	name, err := t.string()
	if err != nil || name == "" {
		return "", err
	}
	var dir int64
	for i := range 3 { // folder, time, size
		v, err := t.leb(false)
		if err != nil {
			return "", err
		}
		if i == 0 {
			dir = v
		}
	}
	if !strings.HasPrefix(name, "/") && dir > 0 && dir < int64(len(h.dirs)) {
		name = h.dirs[dir] + "/" + name
	}
	if strings.HasPrefix(name, "/") {
		name = path.Clean(name)
	}
	return name, nil
}

// sequence runs the program of one sequence: instructions of one section.
func (t *lineTable) sequence(h lineHead) error {
	section, address, file, line := -1, uint64(0), int64(1), int64(1)
	row := func(end bool) {
		name := ""
		if file > 0 && file < int64(len(h.files)) {
			name = h.files[file]
		}
		if section >= 0 {
			t.rows[section] = append(t.rows[section], lineRow{address, name, line, end})
		}
	}
	for t.at < t.end {
		op, err := t.u(1)
		if err != nil {
			return err
		}
		if op >= h.opcodeBase {
			adjusted := op - h.opcodeBase
			address += adjusted / h.lineRange * h.minInst
			line += h.lineBase + int64(adjusted%h.lineRange)
			row(false)
			continue
		}
		if op == 0 {
			length, err := t.leb(false)
			if err != nil || length < 1 || length > int64(t.end-t.at) {
				return errLines
			}
			next := t.at + int(length)
			switch t.data[t.at] {
			case 1: // end of the sequence
				row(true)
				t.at = next
				return nil
			case 2: // an address, to be relocated
				if length != 9 {
					return errLines
				}
				to, ok := t.targets[t.at+1]
				t.at++
				value, err := t.u(8)
				if err != nil {
					return err
				}
				if section = -1; ok {
					section, address = to.section, to.value+value
				}
			}
			t.at = next // others, NVIDIA's own among them, say nothing of lines
			continue
		}
		if err := t.standard(h, op, &address, &file, &line, row); err != nil {
			return err
		}
	}
	return nil
}

// standard runs a standard operation.
func (t *lineTable) standard(h lineHead, op uint64, address *uint64, file, line *int64, row func(bool)) error {
	switch op {
	case 1:
		row(false)
	case 2:
		n, err := t.leb(false)
		*address += uint64(n) * h.minInst
		return err
	case 3:
		n, err := t.leb(true)
		*line += n
		return err
	case 4:
		n, err := t.leb(false)
		*file = n
		return err
	case 8:
		*address += (255 - h.opcodeBase) / h.lineRange * h.minInst
	case 9:
		n, err := t.u(2)
		*address += n
		return err
	default:
		for range h.lengths[op] {
			if _, err := t.leb(false); err != nil {
				return err
			}
		}
	}
	return nil
}
