package notebook_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/notebook"
)

func withOutputs(outs ...*notebook.Output) *notebook.Notebook {
	c := notebook.NewCell(notebook.Code, "x")
	c.Outputs = outs
	return notebook.New(notebook.NewCell(notebook.Markdown, "text"), c)
}

func stream(name, text string) *notebook.Output {
	return &notebook.Output{Type: notebook.StreamOutput, Name: name, Text: text}
}

func shown(mime string, v any) *notebook.Output {
	return &notebook.Output{Type: notebook.DisplayOutput, Bundle: display.Bundle{Data: map[string]any{mime: v}}}
}

func failed(name, value string) *notebook.Output {
	return &notebook.Output{Type: notebook.ErrorOutput, EName: name, EValue: value}
}

func picture(t *testing.T, w int, level png.CompressionLevel, shade uint8) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, w, 2))
	img.SetGray(1, 1, color.Gray{Y: shade})
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: level}).Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestCompareFindsDifferencesAndOnlyThose(t *testing.T) {
	out := func(s string) []*notebook.Output { return []*notebook.Output{stream("stdout", s)} }
	both := shown("text/plain", "7")
	both.Bundle.Data["text/html"] = "<b>7</b>"
	const same = ""
	for _, tt := range []struct {
		name string
		a, b []*notebook.Output
		want string // in the difference; same for none
	}{
		{"equal text", out("a 1\n"), out("a 1\n"), same},
		{"numbers within the tolerance", out("t = 1.0000001 s"), out("t = 1.0 s"), same},
		{"other notation and alignment", out("|    10.0|"), out("| 9.99999999|"), same},
		{"exponents", out("1e-3"), out("0.001"), same},
		{"numbers beyond it", out("t = 1.01 s"), out("t = 1.02 s"), `expected "t = 1.01 s", found "t = 1.02 s"`},
		{"the sign counts", out("x -1"), out("x 1"), `found "x 1"`},
		{"units may follow", out("3.0000000001ms"), out("3ms"), same},
		{"other units", out("3ms"), out("3us"), `expected "3ms", found "3us"`},
		{"digits in names are text", out("sm_80"), out("sm_80.00000000001"), "stdout"},
		{"addresses are text", out("0xc1"), out("0xc2"), "stdout"},
		{"NaN is NaN", out("NaN 1"), out("NaN 1.0"), same},
		{"a number too many", out("1 2"), out("1 2 3"), "stdout"},
		{"missing text", out("a"), nil, `expected "a", found nothing`},
		{"text too much", nil, out("a"), `expected nothing, found "a"`},
		{"interleaving of streams does not matter",
			[]*notebook.Output{stream("stdout", "a"), stream("stderr", "x"), stream("stdout", "b")},
			[]*notebook.Output{stream("stdout", "ab"), stream("stderr", "x")}, same},
		{"standard error counts", []*notebook.Output{stream("stderr", "x")}, []*notebook.Output{stream("stderr", "y")}, "stderr"},
		{"display missing", []*notebook.Output{shown("text/plain", "7")}, nil, `output 1: expected display_data "7", found nothing`},
		{"display too much", nil, []*notebook.Output{shown("text/html", "7")}, "output 1: expected nothing, found display_data of text/html"},
		{"display instead of an error", []*notebook.Output{failed("panic", "x")}, []*notebook.Output{shown("text/plain", "7")},
			`expected the error "panic: x", found display_data "7"`},
		{"same error", []*notebook.Output{failed("panic", "x")}, []*notebook.Output{failed("panic", "x")}, same},
		{"another error", []*notebook.Output{failed("panic", "x")}, []*notebook.Output{failed("panic", "y")}, "output 1, error"},
		{"a form less", []*notebook.Output{both}, []*notebook.Output{shown("text/plain", "7")}, `output 1, text/html: expected "<b>7</b>", found nothing`},
		{"a form more", []*notebook.Output{shown("text/plain", "7")}, []*notebook.Output{both}, "output 1, text/html: expected nothing"},
		{"JSON by value", []*notebook.Output{shown("application/json", map[string]any{"a": 1.0, "b": "x"})},
			[]*notebook.Output{shown("application/json", map[string]any{"b": "x", "a": 1})}, same},
		{"the same picture encoded otherwise", []*notebook.Output{shown("image/png", picture(t, 3, png.NoCompression, 9))},
			[]*notebook.Output{shown("image/png", picture(t, 3, png.BestCompression, 10)+"\n")}, same},
		{"another picture", []*notebook.Output{shown("image/png", picture(t, 3, png.NoCompression, 9))},
			[]*notebook.Output{shown("image/png", picture(t, 3, png.NoCompression, 90))}, "1 of 6 pixels differ"},
		{"another size", []*notebook.Output{shown("image/png", picture(t, 3, png.NoCompression, 9))},
			[]*notebook.Output{shown("image/png", picture(t, 4, png.NoCompression, 9))}, "3 x 2 pixels, found a picture of 4 x 2"},
		{"a broken picture", []*notebook.Output{shown("image/png", picture(t, 3, png.NoCompression, 9))},
			[]*notebook.Output{shown("image/png", "AAAA")}, "cannot be decoded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			diffs := notebook.Compare(withOutputs(tt.a...), withOutputs(tt.b...), notebook.Tolerance{Relative: 1e-6, Absolute: 1e-9})
			switch {
			case tt.want == same && len(diffs) > 0:
				t.Errorf("found %v", diffs)
			case tt.want != same && (len(diffs) != 1 || !strings.Contains(diffs[0].String(), tt.want) || diffs[0].Number != 2):
				t.Errorf("found %v, want one difference in cell 2 with %q", diffs, tt.want)
			}
		})
	}
}

func TestCompareWithoutToleranceDemandsEqualValues(t *testing.T) {
	a, b := withOutputs(stream("stdout", "1.0")), withOutputs(stream("stdout", "1.00"))
	if d := notebook.Compare(a, b, notebook.Tolerance{}); len(d) != 0 {
		t.Errorf("1.0 and 1.00 are the same number: %v", d)
	}
	b = withOutputs(stream("stdout", "1.0000000001"))
	if d := notebook.Compare(a, b, notebook.Tolerance{}); len(d) != 1 {
		t.Errorf("found %v, want one difference", d)
	}
}

func TestComparePassesOverTaggedCells(t *testing.T) {
	a, b := withOutputs(stream("stdout", "1")), withOutputs(stream("stdout", "2"))
	a.Cells[1].Metadata["tags"] = []any{notebook.TagIgnoreOutput}
	if d := notebook.Compare(a, b, notebook.Tolerance{}); len(d) != 0 {
		t.Errorf("found %v", d)
	}
}

func TestCompareNoticesAnotherNumberOfCells(t *testing.T) {
	b := withOutputs()
	b.Cells = b.Cells[:1]
	if d := notebook.Compare(withOutputs(), b, notebook.Tolerance{}); len(d) != 1 || d[0].Expected != "2" || d[0].Found != "1" {
		t.Errorf("found %v", d)
	}
}
