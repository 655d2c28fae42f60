package collectors

import (
	"bytes"
	"path/filepath"
	"strings"
)

// writings are the endings of files that people write: source code, documents
// and notebooks. They quote profiles, in tests and examples, and are none.
var writings = func() map[string]bool {
	m := map[string]bool{}
	for _, ext := range strings.Fields("go c h cc hh cpp hpp cxx hxx inl cu cuh cl hip f for f90 f95 f03 f08 s asm ll ptx rs java kt scala swift zig jl lua py pyi pyx pl pm rb php " +
		"sh bash zsh fish ps1 bat cmake mk md markdown rst adoc org tex bib html htm css scss ipynb patch diff") {
		m["."+ext] = true
	}
	return m
}()

// written says whether the name is that of such a file.
func (h Head) written() bool { return writings[strings.ToLower(filepath.Ext(h.Name))] }

// HasLine says whether a line begins with one of the texts. It is much cheaper
// than a regular expression: a format that looks for something on any line
// asks this first, as all formats are asked about every file.
func (h Head) HasLine(prefixes ...string) bool {
	for _, p := range prefixes {
		if !bytes.Contains(h.Bytes, []byte(p)) {
			continue // much faster than looking behind each line end
		}
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
