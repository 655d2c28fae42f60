package collectors

import "bytes"

// HasLine says whether a line begins with one of the texts. It is much cheaper
// than a regular expression: a format that looks for something on any line
// asks this first, as all formats are asked about every file.
func (h Head) HasLine(prefixes ...string) bool {
	for _, p := range prefixes {
		if bytes.HasPrefix(h.Bytes, []byte(p)) || bytes.Contains(h.Bytes, []byte("\n"+p)) {
			return true
		}
	}
	return false
}

// Has says whether one of the texts is there.
func (h Head) Has(texts ...string) bool {
	for _, t := range texts {
		if bytes.Contains(h.Bytes, []byte(t)) {
			return true
		}
	}
	return false
}
