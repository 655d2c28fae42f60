package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/kernel/display"
)

// SyntaxError says where a file stops being a notebook.
type SyntaxError struct {
	File         string // as given to Read; may be empty
	Line, Column int    // 1-based; 0 where the fault is in the structure, not in the JSON
	Msg          string
}

func (e *SyntaxError) Error() string {
	var at string
	if e.Line > 0 {
		at = fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	}
	if e.File != "" {
		at = e.File + ":" + at
		if e.Line == 0 {
			at += " "
		}
	}
	return "reading notebook " + at + e.Msg
}

// ReadFile reads the notebook at path.
func ReadFile(path string) (*Notebook, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading notebook: %w", err)
	}
	return Read(data, path)
}

// Read parses a notebook of nbformat 4; file is the name for errors. Errors of
// form are *SyntaxError. Cells without an id get one (see Notebook).
func Read(data []byte, file string) (*Notebook, error) {
	root, err := decode(data, file)
	if err != nil {
		return nil, err
	}
	r := reader{file: file}
	nb := r.notebook(root)
	if r.err != nil {
		return nil, r.err
	}
	nb.ensureIDs()
	return nb, nil
}

// decode parses one JSON object and keeps numbers as written.
func decode(data []byte, file string) (map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	fail := func(off int64, msg string) error {
		off = min(max(off, 0), int64(len(data)))
		head := data[:off]
		nl := bytes.LastIndexByte(head, '\n')
		return &SyntaxError{File: file, Line: bytes.Count(head, []byte("\n")) + 1,
			Column: utf8.RuneCount(head[nl+1:]) + 1, Msg: msg}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fail(0, "the file is empty: expected a JSON object (jupyter writes one for a new notebook)")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		var syn *json.SyntaxError
		switch {
		case errors.As(err, &syn):
			return nil, fail(syn.Offset-1, "not JSON: "+syn.Error())
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fail(int64(len(data)), "the file ends in the middle of the JSON: it was cut off")
		}
		return nil, fail(dec.InputOffset(), "not JSON: "+err.Error())
	}
	end := dec.InputOffset()
	if rest := bytes.TrimSpace(data[end:]); len(rest) > 0 {
		return nil, fail(end, fmt.Sprintf("more text follows the notebook's JSON object: %.20q", rest))
	}
	obj, ok := root.(map[string]any)
	if !ok {
		return nil, fail(0, "expected a JSON object, found "+kindOf(root))
	}
	return obj, nil
}

// reader turns decoded JSON into a Notebook and remembers the first error.
type reader struct {
	file string
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &SyntaxError{File: r.file, Msg: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) notebook(root map[string]any) *Notebook {
	major := r.integer(root, "nbformat", "notebook", true)
	minor := r.integer(root, "nbformat_minor", "notebook", false)
	if r.err == nil && major != 4 {
		r.fail("nbformat is %d: this reader knows nbformat 4; `jupyter nbconvert --to notebook FILE` converts older files", major)
	}
	nb := &Notebook{Minor: minor, Metadata: r.object(root, "metadata", "notebook")}
	for _, k := range []string{"orig_nbformat", "orig_nbformat_minor", "signature"} {
		delete(nb.Metadata, k) // transient, never stored (as nbformat does)
	}
	cells, ok := root["cells"].([]any)
	if !ok {
		r.fail("field \"cells\": expected an array, found %s", kindOf(root["cells"]))
	}
	for i, raw := range cells {
		where := fmt.Sprintf("cell %d", i+1)
		obj, ok := raw.(map[string]any)
		if !ok {
			r.fail("%s: expected an object, found %s", where, kindOf(raw))
			break
		}
		nb.Cells = append(nb.Cells, r.cell(obj, where))
	}
	nb.Extra = rest(root, "cells", "metadata", "nbformat", "nbformat_minor")
	return nb
}

func (r *reader) cell(obj map[string]any, where string) *Cell {
	c := &Cell{
		ID:       r.text(obj, "id", where, false),
		Type:     r.text(obj, "cell_type", where, true),
		Source:   r.text(obj, "source", where, true),
		Metadata: r.object(obj, "metadata", where),
	}
	delete(c.Metadata, "trusted")
	known := []string{"id", "cell_type", "source", "metadata"}
	switch c.Type {
	case Code:
		known = append(known, "outputs", "execution_count")
		c.Count = r.integer(obj, "execution_count", where, false)
		outs, ok := obj["outputs"].([]any)
		if !ok && obj["outputs"] != nil {
			r.fail("%s: field \"outputs\": expected an array, found %s", where, kindOf(obj["outputs"]))
		}
		for i, raw := range outs {
			at := fmt.Sprintf("%s, output %d", where, i+1)
			o, ok := raw.(map[string]any)
			if !ok {
				r.fail("%s: expected an object, found %s", at, kindOf(raw))
				break
			}
			c.Outputs = append(c.Outputs, r.output(o, at))
		}
	case Markdown, Raw:
	default:
		r.fail("%s: field \"cell_type\" is %q: expected code, markdown or raw", where, c.Type)
	}
	c.Extra = rest(obj, known...)
	return c
}

func (r *reader) output(obj map[string]any, where string) *Output {
	o := &Output{Type: r.text(obj, "output_type", where, true)}
	known := []string{"output_type"}
	switch o.Type {
	case StreamOutput:
		known = append(known, "name", "text")
		o.Name = r.text(obj, "name", where, true)
		o.Text = r.text(obj, "text", where, true)
	case DisplayOutput, ResultOutput:
		known = append(known, "data", "metadata")
		o.Bundle = display.Bundle{Data: r.object(obj, "data", where), Metadata: r.object(obj, "metadata", where)}
		for mime, v := range o.Bundle.Data {
			if s, ok := joined(v); ok && !isJSON(mime) {
				o.Bundle.Data[mime] = s
			}
		}
		if o.Type == ResultOutput {
			known = append(known, "execution_count")
			o.Count = r.integer(obj, "execution_count", where, false)
		}
	case ErrorOutput:
		known = append(known, "ename", "evalue", "traceback")
		o.EName = r.text(obj, "ename", where, false)
		o.EValue = r.text(obj, "evalue", where, false)
		list, ok := obj["traceback"].([]any)
		if !ok && obj["traceback"] != nil {
			r.fail("%s: field \"traceback\": expected an array, found %s", where, kindOf(obj["traceback"]))
		}
		for _, l := range list {
			s, ok := l.(string)
			if !ok {
				r.fail("%s: field \"traceback\": expected strings, found %s", where, kindOf(l))
			}
			o.Traceback = append(o.Traceback, s)
		}
	default:
		r.fail("%s: field \"output_type\" is %q: expected stream, display_data, execute_result or error", where, o.Type)
	}
	o.Extra = rest(obj, known...)
	return o
}

// text reads a multi-line string: a string, or a list of strings to be joined.
func (r *reader) text(obj map[string]any, key, where string, required bool) string {
	v, ok := obj[key]
	if !ok && !required {
		return ""
	}
	s, ok := joined(v)
	if !ok {
		r.fail("%s: field %q: expected text, found %s", where, key, kindOf(v))
	}
	return s
}

func (r *reader) object(obj map[string]any, key, where string) map[string]any {
	switch v := obj[key].(type) {
	case map[string]any:
		return v
	case nil:
		return map[string]any{}
	default:
		r.fail("%s: field %q: expected an object, found %s", where, key, kindOf(v))
		return nil
	}
}

// integer reads a count or version; null counts as absent.
func (r *reader) integer(obj map[string]any, key, where string, required bool) int {
	v := obj[key]
	if v == nil {
		if required {
			r.fail("%s: field %q is missing: this is no notebook of nbformat 4", where, key)
		}
		return 0
	}
	n, ok := v.(json.Number)
	if ok {
		if i, err := n.Int64(); err == nil && i >= 0 && i <= math.MaxInt32 {
			return int(i)
		}
	}
	r.fail("%s: field %q: expected a small whole number, found %s", where, key, kindOf(v))
	return 0
}

func joined(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		var b strings.Builder
		for _, l := range v {
			s, ok := l.(string)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}

// rest returns the fields of obj that are not named, or nil.
func rest(obj map[string]any, known ...string) map[string]any {
	var out map[string]any
fields:
	for k, v := range obj {
		for _, n := range known {
			if k == n {
				continue fields
			}
		}
		if out == nil {
			out = map[string]any{}
		}
		out[k] = v
	}
	return out
}

// isJSON says whether a MIME type holds JSON values, which are left as they are.
func isJSON(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %.20q", v)
	case json.Number:
		return "the number " + v.String()
	case bool:
		return fmt.Sprint(v)
	case []any:
		return "an array"
	}
	return "an object"
}
