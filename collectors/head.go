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

// archive says whether the content is a tar archive.
func (h Head) archive() bool { return len(h.Bytes) >= 512 && string(h.Bytes[257:262]) == "ustar" }

// packings are the beginnings of files that hold others.
var packings = []struct{ magic, what, unpack string }{
	{"\x28\xb5\x2f\xfd", "compressed by zstd", "zstd -d FILE"},
	{"\xfd7zXZ\x00", "compressed by xz", "xz -d FILE"},
	{"BZh", "compressed by bzip2", "bzip2 -d FILE"},
	{"\x04\x22\x4d\x18", "compressed by lz4", "lz4 -d FILE"},
	{"\x1f\x8b", "compressed by gzip twice", "gzip -d FILE"}, // it was unpacked once
	{"PK\x03\x04", "a zip archive", "unzip FILE"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x FILE"},
}

// packed says what kind of archive or compressed file the content is, and what
// unpacks it.
func (h Head) packed() (what, unpack string) {
	if h.archive() {
		return "a tar archive", "tar -xf FILE"
	}
	for _, p := range packings {
		if bytes.HasPrefix(h.Bytes, []byte(p.magic)) {
			return p.what, p.unpack
		}
	}
	return "", ""
}
