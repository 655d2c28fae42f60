package delimited

import "strings"

// Header knows the columns of a table by their keys.
type Header struct {
	Cells []Cell
	at    map[string]int
}

// NewHeader returns the header that a row is. Where two columns have the same
// key the first one counts.
func NewHeader(cells []Cell) *Header {
	h := &Header{Cells: cells, at: make(map[string]int, len(cells))}
	for i, c := range cells {
		if k := Key(c.Text); k != "" {
			if _, twice := h.at[k]; !twice {
				h.at[k] = i
			}
		}
	}
	return h
}

// Key is what the spellings of a column's name have in common: its letters,
// digits, brackets and signs of units in lower case. "Dispatch_ID",
// "dispatch-id" and "Dispatch Id" are one key.
func Key(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case strings.ContainsRune(" _-\t", r):
			return -1
		}
		return r
	}, name)
}

// IsRow says whether a cell behind the first of a line with commas begins with
// a digit, which no title does: a cheap look at lines that may be headers.
func IsRow(line string) bool {
	for i := 1; i < len(line); i++ {
		if line[i] >= '0' && line[i] <= '9' && line[i-1] == ',' {
			return true
		}
	}
	return false
}

// At returns the place of the first of some keys that the header has, -1
// where it has none.
func (h *Header) At(keys ...string) int {
	for _, k := range keys {
		if i, ok := h.at[k]; ok {
			return i
		}
	}
	return -1
}

// Has reports whether the header has all of some keys.
func (h *Header) Has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := h.at[k]; !ok {
			return false
		}
	}
	return true
}
