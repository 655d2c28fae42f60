package ncu

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// maxListed is how many rows are kept before the first launches go out. What
// comes after that cannot say the lines of instructions in them any more.
const maxListed = 1 << 18

// shownLaunch finds the launch that a row belongs to. The nth listing of a
// view of a function is of the function's nth launch.
func (p *parser) shownLaunch(function string) (*shown, error) {
	li := &p.list
	if li.current != nil && (li.current.l.kernel == function || function == "") {
		return li.current, nil
	}
	if function == "" {
		function = "(no name)"
		p.once("nameless", "the listing does not say of which kernel it is")
	}
	view := function + "\x00" + li.header.view + "\x00" + li.file
	n := li.views[view]
	li.views[view]++
	key := function + "\x00" + itoa(n)
	s, ok := li.nth[key]
	if !ok {
		region, err := p.kernelRegion(function)
		if err != nil {
			return nil, err
		}
		s = &shown{at: map[uint64]int{}, l: &launch{kernel: function, closed: true,
			rec: datasets.Launch{ID: p.count + 1, Run: runID, Region: region, Sequence: datasets.Some(p.count)}}}
		p.count++
		li.nth[key] = s
		for li.rows > maxListed && len(li.launches) > 0 {
			if err := p.putListing(li.launches[0]); err != nil {
				return nil, err
			}
			li.launches = li.launches[1:]
		}
		li.launches = append(li.launches, s)
	}
	if s.sent {
		return nil, &collectors.UnsupportedError{File: p.in.Name, What: "a SOURCE page of " + itoa(maxListed) + " rows and more in several views",
			Hint: "export one view: ncu --import REPORT --page source --csv --print-source sass"}
	}
	li.current = s
	return s, nil
}

// putListings puts all launches that were listed.
func (p *parser) putListings() error {
	for _, s := range p.list.launches {
		if err := p.putListing(s); err != nil {
			return err
		}
	}
	p.list.launches = nil
	return nil
}

// smallest is below every address that a kernel is loaded at: listings with
// smaller ones have offsets.
const smallest = 1 << 20

// putListing puts a launch: its code, its PC samples and its counters per
// instruction, or per line where no instructions are listed.
func (p *parser) putListing(s *shown) error {
	base := uint64(0)
	for i, at := range s.instructions {
		if i == 0 || at.address < base {
			base = at.address
		}
	}
	if base < smallest {
		base = 0
	}
	region := s.l.rec.Region
	for i := range s.instructions {
		at := &s.instructions[i]
		offset := at.address - base
		code := datasets.Code{Region: region, ISA: "sass", Offset: datasets.Some(int64(offset)), Text: at.text, Opcode: sassOpcode(at.text)}
		if at.line != 0 {
			code.File, code.Line = at.file, datasets.Some(at.line)
		}
		place := "0x" + pad(strconv.FormatUint(offset, 16))
		id, err := p.listCode(place, &code)
		if err != nil {
			return err
		}
		if err := p.putListed(s, at, id, place); err != nil {
			return err
		}
	}
	for i := range s.lines {
		at := &s.lines[i]
		place := at.file + ":" + strconv.FormatInt(at.line, 10)
		id, err := p.listCode(place, &datasets.Code{Region: region, ISA: "source", File: at.file, Line: datasets.Some(at.line), Text: at.text})
		if err != nil {
			return err
		}
		if len(s.instructions) > 0 {
			continue // they are where the samples are from
		}
		if err := p.putListed(s, at, id, place); err != nil {
			return err
		}
	}
	p.list.rows -= len(s.instructions) + len(s.lines)
	s.instructions, s.lines, s.at, s.sent = nil, nil, nil, true
	return p.send(s.l)
}

// pad fills up a hexadecimal number to four digits.
func pad(hex string) string { return strings.Repeat("0", max(0, 4-len(hex))) + hex }

// sassOpcode is the mnemonic of an instruction without its modifiers.
func sassOpcode(text string) string {
	for _, word := range strings.Fields(text) {
		if word[0] == '@' || word == "{" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(word, ";"), ".")
		return name
	}
	return ""
}

// listCode puts code, the first time that a kernel has it.
func (p *parser) listCode(place string, c *datasets.Code) (int64, error) {
	key := c.ISA + itoa(int(c.Region)) + "\x00" + place
	if id, ok := p.list.codes[key]; ok {
		return id, nil
	}
	p.list.count++
	c.ID, c.Run = p.list.count, runID
	p.list.codes[key] = c.ID
	return c.ID, p.out.Put(c)
}

// putListed puts the samples and counters of a row.
func (p *parser) putListed(s *shown, at *listed, code int64, place string) error {
	samples := map[string]*datasets.PCSample{}
	for i := range at.row {
		h, f := at.h, at.row[i]
		if i == h.number || i == h.source || i == h.address || i == h.sass || i == h.function {
			continue
		}
		if c, ok := h.stalls[i]; ok {
			n, ok, err := p.samples(f)
			if err != nil {
				return err
			}
			sample := samples[c.reason]
			if sample == nil {
				sample = &datasets.PCSample{Run: runID, Launch: s.l.rec.ID, Code: code, Reason: c.reason}
				samples[c.reason] = sample
			}
			switch {
			case !ok:
			case c.notIssued:
				sample.NotIssued = datasets.Some(n)
			default:
				sample.Samples = datasets.Some(n)
			}
			continue
		}
		metric := h.cells[i].text
		if j, again := h.twice[i]; again {
			if strings.TrimSpace(at.row[j].text) == strings.TrimSpace(f.text) {
				continue
			}
			metric += " #2"
		}
		unit := ""
		if i < len(h.units) {
			unit = h.units[i]
		}
		if metric == "" {
			continue
		}
		if err := p.numbers.counter(s.l, metric, place, unit, f); err != nil {
			return err
		}
	}
	for i := range at.h.cells { // in the order of the columns
		c, ok := at.h.stalls[i]
		sample := samples[c.reason]
		if !ok || sample == nil {
			continue
		}
		delete(samples, c.reason)
		if sample.Samples.V == 0 && sample.NotIssued.V == 0 {
			continue // of the reasons, most are never met
		}
		if err := p.out.Put(sample); err != nil {
			return err
		}
	}
	return nil
}

// samples reads a number of samples: a whole one, whatever groups its digits.
func (p *parser) samples(f field) (n int64, ok bool, err error) {
	text := strings.TrimSpace(f.text)
	if noValue[strings.ToLower(text)] {
		return 0, false, nil
	}
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(".,' \u00a0\u202f\u2019", r) {
			return -1
		}
		return r
	}, text)
	n, err = strconv.ParseInt(digits, 10, 64)
	if style := collectors.StyleOf(text); err != nil || n < 0 || style == collectors.NotNumber || len(digits) != len(text) && !wholeGroups(text) {
		return 0, false, p.listed(f, "a number of samples is no whole number", "a whole number")
	}
	return n, true, nil
}

// wholeGroups says whether the digits of a number are in groups of three.
func wholeGroups(s string) bool {
	groups := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	for i, g := range groups {
		if i > 0 && len(g) != 3 || len(g) > 3 {
			return false
		}
	}
	return true
}
