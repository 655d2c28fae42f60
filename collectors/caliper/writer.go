package caliper

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Metric is one number of a record that a Writer writes.
type Metric struct {
	Name string
	Unit string // "sec", "byte", ...; empty for a plain count
	// Value is written so that reading it gives the same float64.
	Value float64
}

// Writer writes a profile as a .cali stream: records as they come, globals at
// the end. It is how rooflab records what it does itself; Caliper's own tools
// read the files. Errors of the underlying writer come out of Close.
type Writer struct {
	w       *bufio.Writer
	next    int64
	attrs   map[string]int64
	nodes   map[writerNode]int64
	globals int64 // last node of the globals' chain
	err     error
}

type writerNode struct {
	parent int64
	kind   string
	label  string
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriter(w), next: 16, attrs: map[string]int64{}, nodes: map[writerNode]int64{}, globals: -1}
}

var escaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`, "\n", `\n`, "\r", ` `)

func (w *Writer) node(attr int64, data string, parent int64) int64 {
	id := w.next
	w.next++
	w.printf("__rec=node,id=%d,attr=%d,data=%s", id, attr, escaper.Replace(data))
	if parent >= 0 {
		w.printf(",parent=%d", parent)
	}
	w.printf("\n")
	return id
}

func (w *Writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

// attribute returns the node of an attribute of a type (a node), which it
// writes when it is new.
func (w *Writer) attribute(name string, typ int64, prop int, unit string) int64 {
	if id, ok := w.attrs[name]; ok {
		return id
	}
	parent := typ
	if unit != "" {
		parent = w.node(w.attribute("attribute.unit", 3, 76, ""), unit, parent)
	}
	id := w.node(nodeName, name, w.node(nodeProp, strconv.Itoa(prop), parent))
	w.attrs[name] = id
	return id
}

// Kinds of regions for Record.
const (
	Function = "function"
	Range    = "region"
	Loop     = "loop"
)

// Step is one region on the way from the outermost to that of a record.
type Step struct{ Kind, Name string }

// Record writes what was measured in one region.
func (w *Writer) Record(path []Step, metrics ...Metric) {
	ref := int64(-1)
	for _, s := range path {
		key := writerNode{ref, s.Kind, s.Name}
		id, ok := w.nodes[key]
		if !ok {
			id = w.node(w.attribute(s.Kind, 3, propNested|12, ""), s.Name, ref)
			w.nodes[key] = id
		}
		ref = id
	}
	var attrs, values strings.Builder
	for _, m := range metrics {
		fmt.Fprintf(&attrs, "=%d", w.attribute(m.Name, 5, 65, m.Unit))
		fmt.Fprintf(&values, "=%s", strconv.FormatFloat(m.Value, 'g', -1, 64))
	}
	w.printf("__rec=ctx")
	if ref >= 0 {
		w.printf(",ref=%d", ref)
	}
	if len(metrics) > 0 {
		w.printf(",attr%s,data%s", attrs.String(), values.String())
	}
	w.printf("\n")
}

// Global notes a fact about the run, such as "cmdline" or "launchdate".
func (w *Writer) Global(name, value string) {
	w.globals = w.node(w.attribute(name, 3, propGlobal|76, ""), value, w.globals)
}

// Close writes the globals and returns the first error.
func (w *Writer) Close() error {
	if w.globals < 0 {
		w.Global("written.by", "rooflab") // Caliper's reader wants one
	}
	w.printf("__rec=globals,ref=%d\n", w.globals)
	if err := w.w.Flush(); w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return fmt.Errorf("writing a .cali stream: %w", w.err)
	}
	return nil
}
