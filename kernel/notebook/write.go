package notebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteFile writes the notebook to path. The file is replaced as a whole or
// not at all; an existing file keeps its permissions.
func WriteFile(path string, nb *Notebook) error {
	data, err := Write(nb)
	if err != nil {
		return err
	}
	return writeWhole(path, data)
}

// writeWhole puts data at path through a temporary file beside it.
func writeWhole(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if st, err := os.Stat(path); err == nil {
		if !st.Mode().IsRegular() { // a pipe or device cannot be replaced by a rename
			return os.WriteFile(path, data, mode)
		}
		mode = st.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Write returns the notebook in the form that Jupyter's own writer (nbformat)
// uses: keys sorted, one space of indent, text split into lines, non-ASCII as
// it is, a newline at the end. Equal notebooks give equal bytes.
func Write(nb *Notebook) ([]byte, error) {
	nb.ensureIDs()
	root := clone(nb.Extra)
	root["nbformat"] = 4
	root["nbformat_minor"] = max(nb.Minor, 5)
	root["metadata"] = orEmpty(nb.Metadata)
	cells := make([]any, len(nb.Cells))
	for i, c := range nb.Cells {
		cells[i] = c.encode()
	}
	root["cells"] = cells
	var b bytes.Buffer
	if err := encode(&b, root, 0); err != nil {
		return nil, fmt.Errorf("writing notebook: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func (c *Cell) encode() map[string]any {
	obj := clone(c.Extra)
	obj["id"] = c.ID
	obj["cell_type"] = c.Type
	obj["source"] = lines(c.Source)
	obj["metadata"] = orEmpty(c.Metadata)
	if c.Type == Code {
		outs := make([]any, len(c.Outputs))
		for i, o := range c.Outputs {
			outs[i] = o.encode()
		}
		obj["outputs"] = outs
		obj["execution_count"] = count(c.Count)
	}
	return obj
}

func (o *Output) encode() map[string]any {
	obj := clone(o.Extra)
	obj["output_type"] = o.Type
	switch o.Type {
	case StreamOutput:
		obj["name"] = o.Name
		obj["text"] = lines(o.Text)
	case DisplayOutput, ResultOutput:
		data := map[string]any{}
		for mime, v := range o.Bundle.Data {
			if s, ok := v.(string); ok && splits(mime) {
				v = lines(s)
			}
			data[mime] = v
		}
		obj["data"] = data
		obj["metadata"] = orEmpty(o.Bundle.Metadata)
		if o.Type == ResultOutput {
			obj["execution_count"] = count(o.Count)
		}
	case ErrorOutput:
		obj["ename"] = o.EName
		obj["evalue"] = o.EValue
		tb := make([]any, len(o.Traceback))
		for i, l := range o.Traceback {
			tb[i] = l
		}
		obj["traceback"] = tb
	}
	return obj
}

// splits says whether Jupyter stores a MIME type's text as a list of lines.
func splits(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "application/javascript" || mime == "image/svg+xml"
}

// lines splits text after each line end, as Python's str.splitlines(True) does:
// that is what Jupyter's writer uses, and it knows more line ends than "\n".
func lines(s string) []any {
	out := []any{}
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch r {
		case '\r':
			if i < len(s) && s[i] == '\n' {
				i++
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		out = append(out, s[start:i])
		start = i
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func count(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func clone(m map[string]any) map[string]any {
	out := make(map[string]any, len(m)+6)
	maps.Copy(out, m)
	return out
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// encode writes v as Python's json.dumps(indent=1, sort_keys=True,
// ensure_ascii=False) does; encoding/json differs in escapes (it escapes <, >
// and &) and in empty containers.
func encode(b *bytes.Buffer, v any, depth int) error {
	newline := func(d int) {
		b.WriteByte('\n')
		for range d {
			b.WriteByte(' ')
		}
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		quote(b, v)
	case json.Number:
		b.WriteString(v.String())
	case map[string]any:
		if len(v) == 0 {
			b.WriteString("{}")
			return nil
		}
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			newline(depth + 1)
			quote(b, k)
			b.WriteString(": ")
			if err := encode(b, v[k], depth+1); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
		newline(depth)
		b.WriteByte('}')
	case []any:
		if len(v) == 0 {
			b.WriteString("[]")
			return nil
		}
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			newline(depth + 1)
			if err := encode(b, e, depth+1); err != nil {
				return err
			}
		}
		newline(depth)
		b.WriteByte(']')
	default:
		// Scalars, and values of other Go types inside application/json bundles:
		// through encoding/json into the types above.
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && raw[0] != '"' {
			b.Write(raw)
			return nil
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var plain any
		if err := dec.Decode(&plain); err != nil {
			return err
		}
		return encode(b, plain, depth)
	}
	return nil
}

func quote(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s { // an invalid byte comes out as U+FFFD: the file must be UTF-8
		switch r {
		case '"':
			b.WriteString(`\"`)
		case '\\':
			b.WriteString(`\\`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < 0x20 {
				fmt.Fprintf(b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
}
