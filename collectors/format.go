package collectors

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Confidence says how sure a format is that a file is its own: 0 is "no", 1
// is "certainly".
type Confidence float64

// Levels of confidence that formats give.
const (
	No       Confidence = 0
	Possible Confidence = 0.3 // the name fits, or a very common first byte
	Likely   Confidence = 0.6 // the content fits and other formats may look alike
	Certain  Confidence = 1   // a magic number, or a header that nothing else has
)

// Head is what Detect sees of a file.
type Head struct {
	Name  string // base name, without ".gz"; empty for standard input without a name
	Bytes []byte // the first bytes of the content, up to HeadSize, without a byte order mark
	Whole bool   // Bytes is the whole content
}

// HeadSize is how much of a file Detect sees.
const HeadSize = 64 << 10

// Format is one file format of one tool.
type Format struct {
	// Name is what --format takes and what artefacts record, "ncu-csv".
	Name string
	// About says in one line what files these are.
	About string
	// Version is the version of the parser. It grows whenever the records
	// that it makes of a file change: files are then imported afresh.
	Version int
	// Detect says how sure the format is that a file is its own.
	Detect func(Head) Confidence
	// Archive says that its files are tar archives. No other format is asked
	// about one: it would take the first member for the whole.
	Archive bool
	// Parse reads all of in and emits records into out: one Run, or several.
	Parse func(ctx context.Context, in *Input, out *Output) error
	// Parts, where the profile is several files, returns the paths of those
	// that there are beside the one at path, always in the same order. Parse
	// opens them with Input.Part. A part by itself is a format of its own,
	// whose Parse returns a *PartError.
	Parts func(path string) []string
}

var (
	formatsMu sync.Mutex
	formats   = map[string]Format{}
)

// Register makes a format known. It panics when the name is taken.
func Register(f Format) {
	formatsMu.Lock()
	defer formatsMu.Unlock()
	if _, dup := formats[f.Name]; dup {
		panic("collectors: format " + f.Name + " registered twice")
	}
	formats[f.Name] = f
}

// Formats lists the registered formats by name.
func Formats() []Format {
	formatsMu.Lock()
	defer formatsMu.Unlock()
	fs := make([]Format, 0, len(formats))
	for _, f := range formats {
		fs = append(fs, f)
	}
	sort.Slice(fs, func(i, j int) bool { return fs[i].Name < fs[j].Name })
	return fs
}

// Lookup finds a format by its name.
func Lookup(name string) (Format, error) {
	formatsMu.Lock()
	f, ok := formats[name]
	formatsMu.Unlock()
	if !ok {
		return f, fmt.Errorf("no format %q: there are %s", name, names())
	}
	return f, nil
}

func names() string {
	var ns []string
	for _, f := range Formats() {
		ns = append(ns, f.Name)
	}
	if len(ns) == 0 {
		return `none (import _ "github.com/rooflab/rooflab/collectors/all")`
	}
	return strings.Join(ns, ", ")
}

// claims is what the format says of a file.
func (f Format) claims(h Head) Confidence {
	if h.archive() != f.Archive {
		return No
	}
	return f.Detect(h)
}

// Detect returns the format that is surest of a file, by name where two are
// equally sure. It returns an *UnknownError where none knows it, and for files
// whose names say that people wrote them: source code and documents.
func Detect(h Head) (Format, Confidence, error) {
	var best Format
	var sure Confidence
	if h.written() {
		return best, sure, &UnknownError{File: h.Name, Empty: len(h.Bytes) == 0 && h.Whole, Written: true}
	}
	for _, f := range Formats() {
		if c := f.claims(h); c > sure {
			best, sure = f, c
		}
	}
	if sure == No {
		e := &UnknownError{File: h.Name, Empty: len(h.Bytes) == 0 && h.Whole}
		e.Packed, e.Unpack = h.packed()
		return best, sure, e
	}
	return best, sure, nil
}
