package ncurep

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"strings"
)

// cubin is the machine code of a module: an ELF file.
type cubin struct {
	sm        int // compute capability, 86 for 8.6
	functions map[string]*machineCode
	ptx       map[string]ptxCode // by function
}

// machineCode is one function's.
type machineCode struct {
	text  []byte // 16 bytes an instruction
	lines []lineRow
	first uint64 // offset of the function within its section
}

// maxSections is beyond any real cubin. Without them a small
// file could ask the ELF reader for much memory.
const maxSections = 1 << 20

// readCubin reads what a cubin says of its functions. It returns an error text
// where it is damaged: the code is then left out, which changes no number.
// It changes b: the header's version is CUDA's, which Go's reader refuses.
func readCubin(b []byte) (c *cubin, fault string) {
	const versionAt = 20
	if len(b) > versionAt+4 && bytes.HasPrefix(b, []byte(elf.ELFMAG)) {
		binary.LittleEndian.PutUint32(b[versionAt:], uint32(elf.EV_CURRENT))
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, err.Error()
	}
	if len(f.Sections) > maxSections {
		return nil, "too many sections"
	}
	c = &cubin{sm: elfCapability(b), functions: map[string]*machineCode{}, ptx: map[string]ptxCode{}}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err.Error()
	}
	texts := map[int][]byte{}
	bySection := map[int][]*placed{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || int(s.Section) >= len(f.Sections) {
			continue
		}
		section := f.Sections[s.Section]
		if !strings.HasPrefix(section.Name, ".text") || section.Type != elf.SHT_PROGBITS {
			continue
		}
		text, ok := texts[int(s.Section)]
		if !ok {
			if text, err = content(section); err != nil {
				return nil, section.Name + ": " + err.Error()
			}
			texts[int(s.Section)] = text
		}
		if s.Value > uint64(len(text)) || s.Size > uint64(len(text))-s.Value {
			return nil, "the function " + s.Name + " is larger than its section"
		}
		code := &machineCode{text: text[s.Value : s.Value+s.Size]}
		c.functions[s.Name] = code
		bySection[int(s.Section)] = append(bySection[int(s.Section)], &placed{code, s.Value, s.Size})
	}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".nv_debug_ptx_txt") && s.Type == elf.SHT_PROGBITS {
			if data, err := content(s); err == nil {
				for name, code := range readPTX(string(data), "\x00") {
					c.ptx[name] = code
				}
			}
		}
	}
	return c, c.readLines(f, symbols, bySection)
}

// content is a section's. Compressed ones, which no compiler of NVIDIA writes,
// could unpack to more than the file's size.
func content(s *elf.Section) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, errors.New("the section has no content or a compressed one")
	}
	return s.Data()
}

// placed is a function within its section.
type placed struct {
	code        *machineCode
	value, size uint64
}

// elfCapability reads the capability from the flags of the ELF header: the
// lowest byte, or, since version 8 of the ABI, the second.
func elfCapability(b []byte) int {
	const flagsAt, abiAt = 48, 8
	if len(b) < flagsAt+4 {
		return 0
	}
	flags := binary.LittleEndian.Uint32(b[flagsAt:])
	if b[abiAt] >= 8 {
		return int(flags >> 8 & 0xff)
	}
	return int(flags & 0xff)
}

// ptxCode is the PTX of a function: its lines, which end with end, and the
// number of the first within its module.
type ptxCode struct {
	text, end string
	first     int
}

// lines calls f with each line that is not blank.
func (c ptxCode) lines(f func(number int, line string) error) error {
	rest := c.text
	for n := c.first; rest != ""; n++ {
		line, more, _ := strings.Cut(rest, c.end)
		rest = more
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := f(n, line); err != nil {
			return err
		}
	}
	return nil
}

// readPTX finds the functions in a module's PTX.
func readPTX(text, end string) map[string]ptxCode {
	found := map[string]ptxCode{}
	entry, begin, first, depth, opened := "", 0, 0, 0, false
	for n, at := 1, 0; at < len(text); n++ {
		line, _, _ := strings.Cut(text[at:], end)
		next := min(at+len(line)+len(end), len(text))
		if name, ok := ptxFunction(line); ok && depth == 0 {
			entry, begin, first, opened = name, at, n, false
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		opened = opened || strings.Contains(line, "{")
		declared := !opened && strings.HasSuffix(strings.TrimSpace(line), ";")
		if entry != "" && (opened && depth <= 0 || declared) {
			if !declared {
				found[entry] = ptxCode{text[begin:next], end, first}
			}
			entry, depth, opened = "", 0, false
		}
		at = next
	}
	return found
}

// ptxFunction is the name of the function that a line of PTX begins.
func ptxFunction(s string) (string, bool) {
	for _, key := range []string{".entry", ".func"} {
		_, rest, ok := strings.Cut(s, key)
		if !ok || strings.HasPrefix(strings.TrimSpace(s), "//") {
			continue
		}
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "(") { // the parameter that it returns
			if _, rest, ok = strings.Cut(rest, ")"); !ok {
				return "", false
			}
			rest = strings.TrimSpace(rest)
		}
		if i := strings.IndexAny(rest, "( \t{"); i >= 0 {
			rest = rest[:i]
		}
		return rest, rest != ""
	}
	return "", false
}
