package ncu

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// The SOURCE page lists a kernel's instructions, its lines of source, or each
// line with its instructions below it (--print-source sass, cuda, cuda,sass):
//
//	"Kernel Name","saxpy(int, float)",          a title; or two: "File Path","/src/a.cu" and
//	"Address","Source","# Samples",...          "Function Name","saxpy", with "Line No","Source","Address","Source"
//	"0x7f0000001000","  MOV R1, c[0x0][0x28]","42",...
//
// A line of source repeats the samples of its instructions, and so does a
// second listing of the same kernel: samples are those of instructions, and
// those of lines only where there is no instruction.
type listing struct {
	file     string // "File Path", until the next
	function string
	titled   bool // a title came, and no header since
	header   *listHeader
	current  *shown
	launches []*shown          // in the order of the file
	rows     int               // that are kept in them
	views    map[string]int    // how often each view of a function came
	nth      map[string]*shown // the launches of a function, by number
	codes    map[string]int64  // ids of what went out, by region and place
	count    int64
}

// listHeader is the header of a listing.
type listHeader struct {
	sep                                     byte
	cells                                   []field
	number, source, address, sass, function int // columns, -1 where there is none
	stalls                                  map[int]stallColumn
	twice                                   map[int]int // a repeated column and the one that it repeats
	view                                    string
	units                                   []string
	rows                                    int
	line                                    int64 // that the instructions below belong to
}

// measured says whether the header has a column of measurements.
func (h *listHeader) measured() bool {
	for i, c := range h.cells {
		if _, ok := h.stalls[i]; ok {
			return true
		}
		for _, part := range []string{"Instructions Executed", "# Samples", "Warp Stall", "Sampling Data"} {
			if strings.Contains(c.text, part) {
				return true
			}
		}
	}
	return false
}

// stallColumn is a column of PC samples.
type stallColumn struct {
	reason    string
	notIssued bool
}

// shown is a launch whose listings are being read. Instructions are kept until
// all are known: their offsets count from the lowest address.
type shown struct {
	l            *launch
	instructions []listed
	lines        []listed
	at           map[uint64]int // instructions by address
	sent         bool
}

// listed is a row: an instruction or a line of source.
type listed struct {
	row     []field
	h       *listHeader
	address uint64
	text    string
	file    string
	line    int64 // 0 where there is none
}

// stallReasons are the short names of reasons in the headers of listings, and
// what the metrics are called.
var stallReasons = map[string]string{
	"barrier": "barrier", "branch_resolving": "branch_resolving", "dispatch": "dispatch_stall", "drain": "drain", "gmma": "gmma", "imc": "imc_miss",
	"lg": "lg_throttle", "long_sb": "long_scoreboard", "math": "math_pipe_throttle", "membar": "membar", "mio": "mio_throttle", "misc": "misc",
	"no_inst": "no_instructions", "no_instruction": "no_instructions", "not_selected": "not_selected", "selected": "selected", "short_sb": "short_scoreboard",
	"sleep": "sleeping", "tex": "tex_throttle", "wait": "wait",
}

// asStall reads a column's name as that of PC samples of a reason:
// "stall_long_sb (Not Issued)" or the metric's own name.
func asStall(name string) (c stallColumn, ok bool) {
	short, notIssued := strings.CutSuffix(name, " (Not Issued)")
	reason, ok := strings.CutPrefix(short, "stall_")
	if !ok {
		if reason, ok = strings.CutPrefix(short, "smsp__pcsamp_warps_issue_stalled_"); !ok {
			return c, false
		}
		if r, not := strings.CutSuffix(reason, "_not_issued"); not {
			reason, notIssued = r, true
		}
	}
	if full, known := stallReasons[reason]; known {
		reason = full
	}
	return stallColumn{reason, notIssued}, reason != ""
}

// asTitle reads a line as a title of the SOURCE page: "Kernel Name","saxpy(...)",
func asTitle(line string) (kind, value string, ok bool) {
	start := strings.TrimPrefix(line, `"`)
	for _, kind := range []string{"Kernel Name", "Function Name", filePath, "File Name"} {
		rest, found := strings.CutPrefix(start, kind)
		if !found {
			continue
		}
		if len(start) < len(line) {
			if rest, found = strings.CutPrefix(rest, `"`); !found {
				return "", "", false
			}
		}
		if len(rest) < 2 || !strings.ContainsRune(",;\t", rune(rest[0])) {
			return "", "", false
		}
		fields, err := split(line, rest[0], nil)
		if err != nil || len(fields) < 2 || fields[1].text == "" {
			return "", "", false
		}
		if _, known := columns[fields[1].text]; known {
			return "", "", false
		}
		for _, f := range fields[2:] { // without quotes, a name may hold separators
			if f.text != "" && anyQuoted(fields) {
				return "", "", false
			}
			if _, known := columns[f.text]; known {
				return "", "", false
			}
		}
		value := fields[1].text
		if !fields[1].quoted {
			value = strings.TrimRight(rest[1:], string(rest[0]))
		}
		if kind == "File Name" { // of the view of source alone
			kind = filePath
		}
		return kind, strings.TrimSpace(value), true
	}
	return "", "", false
}

// filePath is the title that says which file the lines of source are of.
const filePath = "File Path"

// asListHeader reads a line as the header of a listing, nil where it is none.
func asListHeader(line string) *listHeader {
	if !strings.Contains(line, "Source") && !strings.Contains(line, "SASS") || !strings.Contains(line, "Address") && !strings.Contains(line, "Line No") &&
		!strings.Contains(line, "PC") && !strings.HasPrefix(strings.TrimPrefix(line, `"`), "#") {
		return nil
	}
	for _, sep := range []byte{',', ';', '\t'} {
		fields, err := split(line, sep, nil)
		if err != nil || len(fields) < 3 {
			continue
		}
		h := &listHeader{sep: sep, cells: fields, number: -1, source: -1, address: -1, sass: -1, function: -1,
			stalls: map[int]stallColumn{}, twice: map[int]int{}}
		first := map[string]int{}
		for i := range fields {
			name := strings.TrimSpace(fields[i].text)
			fields[i].text = name
			switch name {
			case "#", "Line No":
				h.number = i
			case "Address", "PC":
				h.address = i
			case "SASS":
				h.sass = i
			case "Function Name", "Kernel Name":
				h.function = i
			case "Source":
				if h.address >= 0 && h.sass < 0 {
					h.sass = i
				} else {
					h.source = i
				}
			default:
				if c, ok := asStall(name); ok {
					h.stalls[i] = c
				}
				if j, ok := first[name]; ok {
					h.twice[i] = j
				} else {
					first[name] = i
				}
			}
		}
		if h.address < 0 && (h.number < 0 || h.source < 0) || h.address >= 0 && h.sass < 0 {
			continue
		}
		h.view = "lines"
		switch {
		case h.address >= 0 && h.source >= 0:
			h.view = "lines and instructions"
		case h.address >= 0:
			h.view = "instructions"
		}
		return h
	}
	return nil
}

// listTitle takes a title. A table ends only with the header that follows: the
// application may write what looks like a title.
func (p *parser) listTitle(kind, value string) {
	p.list.header, p.list.titled, p.list.current = nil, true, nil
	if kind == filePath {
		p.list.file = value
		return
	}
	p.list.function = value
	if kind == "Kernel Name" {
		p.list.file = ""
	}
}

// endTable leaves the table of launches that came before, if there was one.
func (p *parser) endTable() {
	if p.table != nil {
		p.once("pages", "the SOURCE page begins here: its kernels are launches of their own")
	}
	p.table, p.units = nil, nil
}

// listRow reads a row of a listing.
func (p *parser) listRow(row []field) error {
	h := p.list.header
	if len(row) == len(h.cells)+1 && row[len(row)-1].text == "" {
		row = row[:len(h.cells)] // a separator at the end
	}
	if len(row) != len(h.cells) {
		e := p.in.Syntax(row[len(row)-1].line, row[len(row)-1].column, "the row has a wrong number of cells")
		e.Expected, e.Found = itoa(len(h.cells))+" as in the header", itoa(len(row))
		e.Hint = "the row is cut, or a cell of it is missing: export the page again"
		return e
	}
	h.rows++
	cell := func(i int) string {
		if i < 0 {
			return ""
		}
		return strings.TrimSpace(row[i].text)
	}
	address := cell(h.address)
	if address == "-" {
		address = ""
	}
	number := cell(h.number)
	if address == "" && number == "" {
		if h.rows == 1 && cell(h.source) == "" && cell(h.sass) == "" { // units
			h.units = make([]string, len(row))
			for i := range row {
				h.units[i] = strings.TrimSpace(row[i].text)
			}
			return nil
		}
		return p.listed(row[0], "a row with neither an address nor a line", `an address such as "0x7f0000001000"`)
	}
	function := p.list.function
	if h.function >= 0 && cell(h.function) != "" {
		function = cell(h.function)
	}
	s, err := p.shownLaunch(function)
	if err != nil {
		return err
	}
	at := listed{row: append([]field(nil), row...), h: h, file: p.list.file, text: cell(h.source)}
	if number != "" && h.view != "instructions" {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 {
			return p.listed(row[h.number], "the number of a line is no number", "a number")
		}
		at.line, h.line = n, n
	}
	if address == "" {
		s.lines = append(s.lines, at)
		p.list.rows++
		return nil
	}
	if at.address, err = parseAddress(address); err != nil {
		return p.listed(row[h.address], "the address of an instruction is no number", `an address such as "0x7f0000001000"`)
	}
	at.text, at.line = cell(h.sass), h.line
	if i, ok := s.at[at.address]; ok { // listed before, below another line or in another view
		if was := &s.instructions[i]; was.line == 0 {
			was.file, was.line = at.file, at.line
		}
		return nil
	}
	s.at[at.address] = len(s.instructions)
	s.instructions = append(s.instructions, at)
	p.list.rows++
	return nil
}

func (p *parser) listed(f field, msg, expected string) *collectors.SyntaxError {
	e := p.in.Syntax(f.line, f.column, msg)
	e.Expected, e.Found = expected, collectors.Quote(f.text)
	e.Hint = "a cell of this row is missing or damaged: export the page again"
	return e
}

// parseAddress reads "0x7f0000001000" and "/*0060*/".
func parseAddress(s string) (uint64, error) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "/*"), "*/")
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint(strings.ReplaceAll(hex, " ", ""), 16, 64)
	}
	return strconv.ParseUint(s, 16, 64)
}
