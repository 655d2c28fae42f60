package ncurep

import (
	"sort"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// source is a module: its code, as far as the report holds it, and where its
// functions were loaded.
type source struct {
	reference uint64
	sm        int
	code      *cubin // nil where there is no binary
	ptx       map[string]ptxCode
	files     map[string]string
	functions []loaded // by address
}

// loaded is a function in the memory of the GPU.
type loaded struct {
	name    string
	address uint64
}

// source reads a module. A later one of the same reference adds to it.
func (p *parser) source(m message) error {
	s := &source{files: map[string]string{}}
	err := p.each(m, func(fd field) error {
		switch fd.num {
		case 1:
			return p.number(fd, &s.reference)
		case 3:
			m, err := p.message(fd, "a module's PTX")
			if text := string(m.b); err == nil && strings.Contains(text, ".version") && strings.Contains(text, ".target") {
				s.ptx = readPTX(text, "\n")
			}
			return err
		case 4:
			m, err := p.message(fd, "a module's binary")
			if err != nil || len(m.b) == 0 {
				return err
			}
			var fault string
			if s.code, fault = readCubin(m.b); fault != "" {
				p.once("cubin", "at byte %d: instructions or lines of the cubin are left out: %s", m.at, fault)
			}
		case 6:
			v := uint64(0)
			err := p.number(fd, &v)
			s.sm = int(v>>16)*10 + int(v&0xffff)
			return err
		case 8:
			return p.eachIn(fd, "the source files", func(fd field) error { return p.sourceFile(fd, s) })
		case 9:
			return p.eachIn(fd, "the loaded symbols", func(fd field) error {
				if fd.num != 1 {
					return nil
				}
				f := loaded{}
				err := p.eachIn(fd, "a loaded function", func(fd field) error {
					switch fd.num {
					case 1:
						return p.text(fd, &f.name)
					case 2:
						return p.number(fd, &f.address)
					}
					return nil
				})
				s.functions = append(s.functions, f)
				return err
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if was, ok := p.sources[s.reference]; ok {
		was.merge(s)
		s = was
	}
	sort.SliceStable(s.functions, func(i, j int) bool { return s.functions[i].address < s.functions[j].address })
	p.sources[s.reference] = s
	return nil
}

func (p *parser) sourceFile(fd field, s *source) error {
	if fd.num != 1 {
		return nil
	}
	name, content := "", ""
	err := p.eachIn(fd, "a source file", func(fd field) error {
		switch fd.num {
		case 1:
			return p.text(fd, &name)
		case 2:
			return p.text(fd, &content)
		}
		return nil
	})
	if content != "" {
		s.files[name] = content
	}
	return err
}

func (s *source) merge(more *source) {
	if more.code != nil {
		s.code = more.code
	}
	if more.ptx != nil {
		s.ptx = more.ptx
	}
	if s.sm == 0 {
		s.sm = more.sm
	}
	for name, content := range more.files {
		s.files[name] = content
	}
	s.functions = append(s.functions, more.functions...)
}

// farthest is how far from a function's start an instruction may be where its
// size is not known.
const farthest = 16 << 20

// function finds the function that holds an address, and how far in.
func (s *source) function(pc uint64) (name string, offset uint64, ok bool) {
	i := sort.Search(len(s.functions), func(i int) bool { return s.functions[i].address > pc })
	if i == 0 {
		return "", 0, false
	}
	f := s.functions[i-1]
	size := uint64(farthest)
	if s.code != nil && s.code.functions[f.name] != nil {
		size = uint64(len(s.code.functions[f.name].text))
	}
	return f.name, pc - f.address, pc-f.address < size
}

// functionKey is a function as part of a kernel's code.
type functionKey struct {
	kernel int64 // the kernel's region
	name   string
}

// function is one whose code is in the output.
type function struct {
	region int64
	codes  map[uint64]int64 // ids by offset
}

// codes are the functions whose code went out.
type codes struct{ functions map[functionKey]*function }

// putFunction puts the code of a function that a kernel consists of or calls,
// the first time that it is seen.
func (p *parser) putFunction(kernel int64, entry, name string, s *source) (*function, error) {
	key := functionKey{kernel, name}
	if fn, ok := p.code.functions[key]; ok {
		return fn, nil
	}
	fn := &function{region: kernel, codes: map[uint64]int64{}}
	p.code.functions[key] = fn
	if name != entry {
		var err error
		if fn.region, err = p.putRegion(&datasets.Region{Parent: kernel, Kind: datasets.KindFunction, Raw: demangled(name), Mangled: mangledOnly(name)}); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return fn, nil
	}
	used := map[string]bool{}
	if s.code != nil && s.code.functions[name] != nil {
		code, sm := s.code.functions[name], s.sm
		if sm == 0 {
			sm = s.code.sm
		}
		for at := 0; at+16 <= len(code.text) && sm >= 70; at += 16 {
			low, high := le64(code.text[at:]), le64(code.text[at+8:])
			rec := datasets.Code{ISA: "sass", Offset: datasets.Some(int64(at)), Opcode: mnemonic(low, sm)}
			rec.Text = sassText(rec.Opcode, low, high)
			if file, line, ok := code.at(uint64(at)); ok {
				rec.File, rec.Line = file, datasets.Some(line)
				used[file] = true
			}
			if err := p.putCode(fn, uint64(at), &rec); err != nil {
				return nil, err
			}
		}
	}
	if err := p.putPTX(fn, name, s); err != nil {
		return nil, err
	}
	return fn, p.putSourceText(fn, used, s)
}

// instruction returns the code of an offset, which it puts where there was no
// binary to take it from.
func (p *parser) instruction(fn *function, offset uint64) (int64, error) {
	if id, ok := fn.codes[offset]; ok {
		return id, nil
	}
	err := p.putCode(fn, offset, &datasets.Code{ISA: "sass", Offset: datasets.Some(int64(offset))})
	return fn.codes[offset], err
}

func (p *parser) putCode(fn *function, offset uint64, c *datasets.Code) error {
	p.ids.code++
	c.ID, c.Run, c.Region = p.ids.code, runID, fn.region
	if c.ISA == "sass" {
		fn.codes[offset] = c.ID
	}
	return p.out.Put(c)
}

// putPTX puts the lines of PTX that are a function's. Line is the number
// within the module's PTX.
func (p *parser) putPTX(fn *function, name string, s *source) error {
	code, ok := s.ptx[name]
	if !ok && s.code != nil {
		code = s.code.ptx[name]
	}
	return code.lines(func(number int, line string) error {
		return p.putCode(fn, 0, &datasets.Code{ISA: "ptx", Text: line, Line: datasets.Some(int64(number)), Opcode: ptxOpcode(line)})
	})
}

// ptxOpcode is the instruction of a line of PTX, "" where it is none.
func ptxOpcode(line string) string {
	fields := strings.Fields(line)
	if len(fields) > 1 && strings.HasPrefix(fields[0], "@") {
		fields = fields[1:]
	}
	if len(fields) == 0 || fields[0][0] < 'a' || fields[0][0] > 'z' {
		return ""
	}
	return strings.TrimSuffix(fields[0], ";")
}

// putSourceText puts the source files that a function's instructions come
// from, as far as the report embeds them; all where no line is known.
func (p *parser) putSourceText(fn *function, used map[string]bool, s *source) error {
	names := make([]string, 0, len(s.files))
	for name := range s.files {
		if len(used) == 0 || used[name] {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		for i, text := range strings.Split(strings.TrimSuffix(s.files[name], "\n"), "\n") {
			rec := datasets.Code{ISA: "source", File: name, Line: datasets.Some(int64(i + 1)), Text: strings.TrimSuffix(text, "\r")}
			if err := p.putCode(fn, 0, &rec); err != nil {
				return err
			}
		}
	}
	return nil
}
