package notebook_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/notebook"
)

// testdata/make_golden.py wrote the file with Jupyter's own writer.
func TestWritesTheBytesThatJupyterWrites(t *testing.T) {
	want, err := os.ReadFile("testdata/written_by_jupyter.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	nb, err := notebook.Read(want, "golden")
	if err != nil {
		t.Fatal(err)
	}
	got, err := notebook.Write(nb)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("wrote\n%s\nwant\n%s", got, want)
	}
	c := nb.Cells[1]
	if c.Source != "x := 1\r\ny := \"a\u2028b\u0085c\"\nx" || c.Count != 3 || !c.HasTag(notebook.TagParameters) || c.HasTag("x") {
		t.Errorf("cell 2 read as %+v", c)
	}
	if o := c.Outputs[0]; o.Name != "stdout" || o.Text != "one\ntwo\vthree\x1b[0m\n" {
		t.Errorf("stream read as %+v", o)
	}
	if nb.Title() != "Title <b>&</b>" {
		t.Errorf("title %q", nb.Title())
	}
}

func TestOldNotebooksGetIDsAndLoseTransientFields(t *testing.T) {
	const old = `{"nbformat":4,"nbformat_minor":2,"metadata":{"signature":"x","orig_nbformat":3,"mine":1},"extra":[1],
	 "cells":[{"cell_type":"code","metadata":{"trusted":true},"source":["a\n","b"],"outputs":[],"execution_count":null,"odd":"kept"},
	          {"cell_type":"code","metadata":{},"source":"a\nb","outputs":[],"execution_count":null}]}`
	nb, err := notebook.Read([]byte(old), "old")
	if err != nil {
		t.Fatal(err)
	}
	first, err := notebook.Write(nb)
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"signature", "orig_nbformat", "trusted"} {
		if bytes.Contains(first, []byte(unwanted)) {
			t.Errorf("%s was kept:\n%s", unwanted, first)
		}
	}
	for _, wanted := range []string{`"nbformat_minor": 5`, `"odd": "kept"`, `"mine": 1`, `"extra": [`, `"id": "`} {
		if !bytes.Contains(first, []byte(wanted)) {
			t.Errorf("%s is missing:\n%s", wanted, first)
		}
	}
	if a, b := nb.Cells[0].ID, nb.Cells[1].ID; a == b || a == "" || b == "" {
		t.Errorf("ids %q and %q", a, b)
	}
	again, _ := notebook.Read([]byte(old), "old")
	second, _ := notebook.Write(again)
	if !bytes.Equal(first, second) {
		t.Error("the same old notebook came out differently a second time")
	}
}

func TestRepeatedIDsAreMadeUnique(t *testing.T) {
	a, b := notebook.NewCell(notebook.Code, "1"), notebook.NewCell(notebook.Code, "2")
	a.ID, b.ID = "same", "same"
	notebook.New(a, b)
	if a.ID != "same" || b.ID == "same" {
		t.Errorf("ids %q and %q: the first keeps its id, the second gets another", a.ID, b.ID)
	}
}

func TestBrokenFilesSayWhereAndWhat(t *testing.T) {
	cell := func(fields string) string {
		return `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{` + fields + `}]}`
	}
	for _, tt := range []struct{ name, in, want string }{
		{"empty", " \n", "f:1:1: the file is empty"},
		{"cut", "{\n \"cells\": [", "f:2:12: the file ends in the middle"},
		{"stray comma", "{\n \"a\": 1,,\n}", "f:2:9: not JSON"},
		{"array", "[1]", "expected a JSON object, found an array"},
		{"more after the end", "{} {}", "f:1:3: more text follows"},
		{"no version", "{}", `"nbformat" is missing`},
		{"version 3", `{"nbformat":3,"worksheets":[]}`, "nbformat is 3"},
		{"no cells", `{"nbformat":4}`, `"cells": expected an array, found nothing`},
		{"cell no object", `{"nbformat":4,"cells":["x"]}`, `cell 1: expected an object, found the text "x"`},
		{"cell type", cell(`"cell_type":"heading","source":""`), `"cell_type" is "heading"`},
		{"no source", cell(`"cell_type":"code"`), `cell 1: field "source": expected text, found nothing`},
		{"source of numbers", cell(`"cell_type":"raw","source":[1]`), `field "source": expected text, found an array`},
		{"bad outputs", cell(`"cell_type":"code","source":"","outputs":{}`), `"outputs": expected an array, found an object`},
		{"bad output", cell(`"cell_type":"code","source":"","outputs":[{"output_type":"pyout"}]`), `cell 1, output 1: field "output_type" is "pyout"`},
		{"bad count", cell(`"cell_type":"code","source":"","execution_count":1.5`), `"execution_count": expected a small whole number, found the number 1.5`},
		{"bad metadata", cell(`"cell_type":"raw","source":"","metadata":7`), `"metadata": expected an object, found the number 7`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := notebook.Read([]byte(tt.in), "f")
			var syn *notebook.SyntaxError
			if !errors.As(err, &syn) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want a SyntaxError with %q", err, tt.want)
			}
		})
	}
}

func TestWriteFileReplacesAsAWholeAndKeepsPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n.ipynb")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := notebook.WriteFile(path, notebook.New(notebook.NewCell(notebook.Markdown, "hi"))); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want the old file's 0600", st.Mode(), err)
	}
	nb, err := notebook.ReadFile(path)
	if err != nil || nb.Cells[0].Source != "hi" {
		t.Errorf("read back %+v, %v", nb, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := notebook.WriteFile(filepath.Join(dir, "none", "n.ipynb"), nb); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("writing into a missing folder: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("testdata/written_by_jupyter.ipynb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"nbformat":4,"cells":[{"cell_type":"code","source":["\ud800",""],"outputs":[{"output_type":"error"}]}]}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nb, err := notebook.Read(data, "fuzz")
		if err != nil {
			return
		}
		first, err := notebook.Write(nb)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := notebook.Read(first, "written")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		second, err := notebook.Write(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("writing is not stable (%v):\n%s\n%s", err, first, second)
		}
		if err := notebook.HTML(&bytes.Buffer{}, nb, "fuzz"); err != nil {
			t.Fatalf("no page: %v", err)
		}
	})
}
