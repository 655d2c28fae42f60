package notebook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg" // decoders for stored pictures
	_ "image/png"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tolerance says when two numbers in outputs count as equal:
// |a-b| <= Absolute + Relative*max(|a|,|b|). Zero values demand equality.
type Tolerance struct{ Relative, Absolute float64 }

func (t Tolerance) equal(a, b float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= t.Absolute+t.Relative*math.Max(math.Abs(a), math.Abs(b))
}

// Difference is one place where two runs of a notebook disagree.
type Difference struct {
	Number          int    // cell, 1-based
	What            string // which output or field
	Expected, Found string // excerpts around the first disagreement
}

func (d Difference) String() string {
	return fmt.Sprintf("cell %d, %s: expected %s, found %s", d.Number, d.What, d.Expected, d.Found)
}

// Compare lists where the outputs of found differ from those of expected, cell
// by cell. Text on standard output is compared apart from text on standard
// error and from displays, since their interleaving depends on timing; numbers
// in text may differ within tol; pictures are compared by their pixels. Cells
// tagged "nbval-ignore-output" are passed over. The two notebooks must have the
// same cells, as two runs of one notebook do.
func Compare(expected, found *Notebook, tol Tolerance) []Difference {
	var out []Difference
	if len(expected.Cells) != len(found.Cells) {
		return []Difference{{Number: min(len(expected.Cells), len(found.Cells)) + 1, What: "number of cells",
			Expected: strconv.Itoa(len(expected.Cells)), Found: strconv.Itoa(len(found.Cells))}}
	}
	for i, e := range expected.Cells {
		f := found.Cells[i]
		if e.Type != Code || e.HasTag(TagIgnoreOutput) || e.HasTag(TagSkipExecution) {
			continue
		}
		for _, d := range compareCell(e, f, tol) {
			d.Number = i + 1
			out = append(out, d)
		}
	}
	return out
}

func compareCell(e, f *Cell, tol Tolerance) []Difference {
	var out []Difference
	for _, name := range []string{"stdout", "stderr"} {
		if d, ok := compareText(streamText(e, name), streamText(f, name), tol); !ok {
			d.What = name
			out = append(out, d)
		}
	}
	eo, fo := rich(e), rich(f)
	for i := range max(len(eo), len(fo)) {
		what := fmt.Sprintf("output %d", i+1)
		switch {
		case i >= len(fo):
			out = append(out, Difference{What: what, Expected: eo[i].describe(), Found: "nothing"})
		case i >= len(eo):
			out = append(out, Difference{What: what, Expected: "nothing", Found: fo[i].describe()})
		case eo[i].Type != fo[i].Type:
			out = append(out, Difference{What: what, Expected: eo[i].describe(), Found: fo[i].describe()})
		default:
			for _, d := range compareOutput(eo[i], fo[i], tol) {
				d.What = what + ", " + d.What
				out = append(out, d)
			}
		}
	}
	return out
}

// compareOutput compares two outputs of the same type.
func compareOutput(e, f *Output, tol Tolerance) []Difference {
	if e.Type == ErrorOutput {
		// The traceback repeats the value with positions; the value is what counts.
		if d, ok := compareText(e.EName+": "+e.EValue, f.EName+": "+f.EValue, tol); !ok {
			d.What = "error"
			return []Difference{d}
		}
		return nil
	}
	var out []Difference
	mimes := slices.Sorted(maps.Keys(e.Bundle.Data))
	for _, m := range slices.Sorted(maps.Keys(f.Bundle.Data)) {
		if _, ok := e.Bundle.Data[m]; !ok {
			mimes = append(mimes, m)
		}
	}
	for _, m := range mimes {
		ev, eok := e.Bundle.Data[m]
		fv, fok := f.Bundle.Data[m]
		var d Difference
		var same bool
		switch {
		case !eok:
			d = Difference{Expected: "nothing", Found: excerpt(asText(fv), 0)}
		case !fok:
			d = Difference{Expected: excerpt(asText(ev), 0), Found: "nothing"}
		case strings.HasPrefix(m, "image/") && m != "image/svg+xml":
			d, same = comparePicture(asText(ev), asText(fv))
		default:
			d, same = compareText(asText(ev), asText(fv), tol)
		}
		if !same {
			d.What = m
			out = append(out, d)
		}
	}
	return out
}

func (o *Output) describe() string {
	if o.Type == ErrorOutput {
		return "the error " + excerpt(o.EName+": "+o.EValue, 0)
	}
	if t, ok := o.Bundle.Data["text/plain"]; ok {
		return o.Type + " " + excerpt(asText(t), 0)
	}
	return o.Type + " of " + strings.Join(slices.Sorted(maps.Keys(o.Bundle.Data)), ", ")
}

func streamText(c *Cell, name string) string {
	var b strings.Builder
	for _, o := range c.Outputs {
		if o.Type == StreamOutput && o.Name == name {
			b.WriteString(o.Text)
		}
	}
	return b.String()
}

func rich(c *Cell) []*Output {
	var out []*Output
	for _, o := range c.Outputs {
		if o.Type != StreamOutput {
			out = append(out, o)
		}
	}
	return out
}

func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v) // sorts keys, so equal values give equal text
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// Digits inside a name or an address (sm_80, gfx90a, 0xc000) are text; a unit
// may follow a number directly (1.5ms).
var number = regexp.MustCompile(`[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`)

// compareText compares two texts, numbers within tol, and says where they part.
func compareText(e, f string, tol Tolerance) (Difference, bool) {
	if e == f {
		return Difference{}, true
	}
	en, fn := numbers(e), numbers(f)
	ep, fp := 0, 0
	for i := 0; ; i++ {
		eEnd, fEnd := len(e), len(f)
		if i < len(en) {
			eEnd = en[i][0]
		}
		if i < len(fn) {
			fEnd = fn[i][0]
		}
		// Blanks beside a number are alignment: they vary with its width.
		if et, ft := strings.Trim(e[ep:eEnd], " "), strings.Trim(f[fp:fEnd], " "); et != ft {
			n := 0
			for n < len(et) && n < len(ft) && et[n] == ft[n] {
				n++
			}
			return Difference{Expected: excerpt(e, ep+n), Found: excerpt(f, fp+n)}, false // n is short by the blanks: good enough for an excerpt
		}
		if i >= len(en) && i >= len(fn) {
			return Difference{}, true
		}
		if i >= len(en) || i >= len(fn) {
			return Difference{Expected: excerpt(e, eEnd), Found: excerpt(f, fEnd)}, false
		}
		et, ft := e[en[i][0]:en[i][1]], f[fn[i][0]:fn[i][1]]
		if et != ft {
			ev, eerr := strconv.ParseFloat(et, 64)
			fv, ferr := strconv.ParseFloat(ft, 64)
			if eerr != nil || ferr != nil || !tol.equal(ev, fv) {
				return Difference{Expected: excerpt(e, en[i][0]), Found: excerpt(f, fn[i][0])}, false
			}
		}
		ep, fp = en[i][1], fn[i][1]
	}
}

// numbers finds the numbers of s that are no part of a name.
func numbers(s string) [][]int {
	all := number.FindAllStringIndex(s, -1)
	return slices.DeleteFunc(all, func(m []int) bool {
		return m[0] > 0 && isNameByte(s[m[0]-1]) || m[1] < len(s) && s[m[1]] == 'x'
	})
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// excerpt quotes a little of s from a bit before at.
func excerpt(s string, at int) string {
	if s == "" {
		return "nothing"
	}
	from, to := max(at-20, 0), min(at+40, len(s))
	text := strconv.Quote(strings.ToValidUTF8(s[from:to], ""))
	if from > 0 {
		text = "..." + text
	}
	if to < len(s) {
		text += "..."
	}
	return text
}

// comparePicture compares two base64 pictures by their pixels, each channel
// within 2 of 255: encoders may differ, what is seen may not.
func comparePicture(e, f string) (Difference, bool) {
	if strings.TrimSpace(e) == strings.TrimSpace(f) {
		return Difference{}, true
	}
	ei, eerr := decodePicture(e)
	fi, ferr := decodePicture(f)
	if eerr != nil || ferr != nil {
		return Difference{Expected: pictureText(ei, e, eerr), Found: pictureText(fi, f, ferr)}, false
	}
	if ei.Bounds() != fi.Bounds() {
		return Difference{Expected: pictureText(ei, e, nil), Found: pictureText(fi, f, nil)}, false
	}
	const limit = 2 * 0x101
	b := ei.Bounds()
	differing := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r1, g1, b1, a1 := ei.At(x, y).RGBA()
			r2, g2, b2, a2 := fi.At(x, y).RGBA()
			if apart(r1, r2) > limit || apart(g1, g2) > limit || apart(b1, b2) > limit || apart(a1, a2) > limit {
				differing++
			}
		}
	}
	if differing == 0 {
		return Difference{}, true
	}
	return Difference{Expected: pictureText(ei, e, nil),
		Found: fmt.Sprintf("a picture of the same size in which %d of %d pixels differ", differing, b.Dx()*b.Dy())}, false
}

func apart(a, b uint32) uint32 { return max(a, b) - min(a, b) }

func decodePicture(s string) (image.Image, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	return img, err
}

func pictureText(img image.Image, data string, err error) string {
	if err != nil {
		return fmt.Sprintf("a picture of %d base64 bytes that cannot be decoded (%v)", len(data), err)
	}
	return fmt.Sprintf("a picture of %d x %d pixels", img.Bounds().Dx(), img.Bounds().Dy())
}
