package display_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rooflab/rooflab/kernel/display"
)

// text is what a terminal shows for the values.
func text(t *testing.T, vs ...any) string {
	t.Helper()
	s, ok := display.Render(vs...).Data["text/plain"].(string)
	if !ok {
		t.Fatalf("Render(%T) has no text/plain", vs)
	}
	return s
}

type point struct{ X, Y int }

type named struct {
	A int
	b string
	C []float64
	D map[string]int
	E error
	F any
	G time.Duration
}

type ptrStringer struct{ n int }

func (p *ptrStringer) String() string { return fmt.Sprintf("ptr(%d)", p.n) }

type node struct {
	Val  int
	Next *node
}

func TestFormatReadsLikeGo(t *testing.T) {
	ring := &node{Val: 1}
	ring.Next = &node{Val: 2, Next: ring}
	self := map[string]any{"a": 1}
	self["self"] = self
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "<nil>"},
		{42, "42"},
		{2.5, "2.5"},
		{"a b", "a b"},
		{[]int{1, 2, 3}, "[1 2 3]"},
		{[]string{"a", "b"}, "[a b]"},
		{map[string]int{"b": 2, "a": 1}, "map[a:1 b:2]"},
		{point{1, 2}, "{X:1 Y:2}"},
		{&point{1, 2}, "&{X:1 Y:2}"},
		{[]*point{{1, 2}, nil}, "[&{X:1 Y:2} <nil>]"},
		{(*point)(nil), "<nil>"},
		{[]byte("hi\n"), `[]byte("hi\n")`},
		{[]byte{0, 255}, "[]byte{00 ff}"},
		{time.Second, "1s"},
		{[]time.Duration{time.Second, time.Minute}, "[1s 1m0s]"},
		{errors.New("no"), "no"},
		{ptrStringer{3}, "ptr(3)"},
		{[]ptrStringer{{3}}, "[ptr(3)]"},
		{ring, "&{Val:1 Next:&{Val:2 Next:(itself)}}"},
		{self, "map[a:1 self:(itself)]"},
		{func(int) string { return "" }, "func(int) string"},
		{make(chan int, 3), "chan int (0 of 3 queued)"},
		{complex(1, 2), "(1+2i)"},
		{[2]bool{true, false}, "[true false]"},
		{named{A: 1, b: "x", C: []float64{1.5}, D: map[string]int{"k": 1}, E: errors.New("bad"), F: 3, G: time.Second},
			"{A:1 b:x C:[1.5] D:map[k:1] E:bad F:3 G:1s}"},
	} {
		if got := text(t, c.v); got != c.want {
			t.Errorf("%T: got %q, want %q", c.v, got, c.want)
		}
	}
}

// Without pointers, and once line breaks are taken back, Format is %+v.
func TestFormatAgreesWithFmt(t *testing.T) {
	type inner struct {
		S string
		F float64
		m map[int16]string
	}
	type outer struct {
		I  int
		U  []uint32
		In []inner
		M  map[string]inner
		B  bool
		C  complex64
		A  [3]int8
	}
	same := func(o outer) bool {
		want := strings.Join(strings.Fields(fmt.Sprintf("%+v", o)), " ")
		got := strings.Join(strings.Fields(display.Format(o)), " ")
		return got == want
	}
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, rng.IntN(9))
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	one := func() inner {
		return inner{word(), rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20)), map[int16]string{int16(rng.Int()): word(), int16(rng.Int()): word()}}
	}
	for range 500 {
		o := outer{I: rng.Int(), B: rng.IntN(2) == 0, C: complex(rng.Float32(), -1), A: [3]int8{1, -2, 3}}
		for range rng.IntN(5) {
			o.U = append(o.U, rng.Uint32())
			o.In = append(o.In, one())
		}
		if n := rng.IntN(4); n > 0 {
			o.M = map[string]inner{}
			for range n {
				o.M[word()] = one()
			}
		}
		if !same(o) {
			t.Fatalf("got  %s\nwant %+v", display.Format(o), o)
		}
	}
}

func TestLongValuesAreCutAndSaySo(t *testing.T) {
	million := make([]int, 1_000_000)
	for i := range million {
		million[i] = i
	}
	got := text(t, million)
	for _, want := range []string{"[0 1 2 ", " 49 ", "... 999940 more of 1000000 ...", "999999]"} {
		if !strings.Contains(strings.ReplaceAll(got, "\n", ""), want) {
			t.Errorf("slice: %q not in %q", want, got)
		}
	}
	m := map[int]int{}
	for i := range 1000 {
		m[i] = i
	}
	if got := text(t, m); !strings.Contains(got, "... 950 more of 1000") || !strings.HasPrefix(got, "map[0:0") {
		t.Errorf("map: %q", got)
	}
	if got := text(t, strings.Repeat("é", 30000)); !strings.HasSuffix(got, "... 40000 more bytes of 60000") {
		t.Errorf("string ends with %q", got[len(got)-60:])
	}
	deep := []any{}
	for range 100 {
		deep = []any{deep}
	}
	if got := text(t, deep); !strings.Contains(got, "deeper than 12") {
		t.Errorf("deep: %q", got)
	}
	wide := make([][]string, 90)
	for i := range wide {
		wide[i] = make([]string, 90)
		for j := range wide[i] {
			wide[i][j] = strings.Repeat("x", 90)
		}
	}
	if got := text(t, wide); len(got) > 40000 || !strings.Contains(got, "more of 90") {
		t.Errorf("wide has %d bytes", len(got))
	}
}

func TestWideCompositesGoOneToALine(t *testing.T) {
	m := [][]float64{}
	for i := range 4 {
		row := make([]float64, 8)
		for j := range row {
			row[j] = float64(i*8+j) + 0.5
		}
		m = append(m, row)
	}
	want := "[[0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5]\n" +
		" [8.5 9.5 10.5 11.5 12.5 13.5 14.5 15.5]\n" +
		" [16.5 17.5 18.5 19.5 20.5 21.5 22.5 23.5]\n" +
		" [24.5 25.5 26.5 27.5 28.5 29.5 30.5 31.5]]"
	if got := text(t, m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSeveralValues(t *testing.T) {
	if got := text(t, 3, nil); got != "3, <nil>" {
		t.Errorf("got %q", got)
	}
	b := display.Render(display.Of("text/html", "<b>x</b>"), "<y>")
	html, _ := b.Data["text/html"].(string)
	if !strings.Contains(html, "<b>x</b>") || !strings.Contains(html, "&lt;y&gt;") || strings.Contains(html, "<y>") {
		t.Errorf("html %q", html)
	}
}

type shower struct{}

func (shower) Display() display.Bundle { return display.Of("text/html", "<i>own</i>") }

type jupyter struct{}

func (jupyter) HTML() string         { return "<p>a &amp; b</p><script>x()</script>" }
func (jupyter) PNG() ([]byte, error) { return []byte("\x89PNG..."), nil }
func (jupyter) SVG() (string, error) { return "", errors.New("no ink") }

type bundler struct{}

func (bundler) MIMEBundle() (data, meta map[string]any) {
	return map[string]any{"application/vnd.x+json": map[string]any{"a": 1}}, map[string]any{"m": true}
}

type panicker struct{ A int }

func (panicker) HTML() string { panic("boom") }

type ptrHTML struct{}

func (*ptrHTML) HTML() string { return "<p>pointer</p>" }

func TestMethodsAreAsked(t *testing.T) {
	if b := display.Render(shower{}); b.Data["text/html"] != "<i>own</i>" || b.Data["text/plain"] != "own" {
		t.Errorf("Display: %v", b.Data)
	}
	b := display.Render(jupyter{})
	if b.Data["image/png"] != base64.StdEncoding.EncodeToString([]byte("\x89PNG...")) {
		t.Errorf("PNG: %v", b.Data["image/png"])
	}
	if s := b.Data["text/plain"].(string); !strings.HasPrefix(s, "a & b") || !strings.Contains(s, "SVG failed: no ink") || strings.Contains(s, "x()") {
		t.Errorf("text: %q", s)
	}
	b = display.Render(bundler{})
	if b.Data["application/vnd.x+json"] == nil || b.Metadata["m"] != true || b.Data["text/plain"] == nil {
		t.Errorf("MIMEBundle: %+v", b)
	}
	if s := text(t, panicker{7}); !strings.Contains(s, "{A:7}") || !strings.Contains(s, "HTML panicked: boom") {
		t.Errorf("panicking method: %q", s)
	}
	if b := display.Render(ptrHTML{}); b.Data["text/html"] != "<p>pointer</p>" {
		t.Errorf("pointer receiver: %v", b.Data)
	}
	if s := text(t, (*ptrHTML)(nil)); s != "<nil>" {
		t.Errorf("nil pointer: %q", s)
	}
}

func TestRegisterAsksLatestFirstAndReplacesByName(t *testing.T) {
	type mine struct{}
	as := func(s string) display.Renderer {
		return func(v any) (display.Bundle, bool) {
			_, ok := v.(mine)
			return display.Of("text/plain", s), ok
		}
	}
	display.Register("test-a", as("a"))
	display.Register("test-b", as("b"))
	if got := text(t, mine{}); got != "b" {
		t.Errorf("got %q, want b", got)
	}
	display.Register("test-b", func(any) (display.Bundle, bool) { return display.Bundle{}, false })
	if got := text(t, mine{}); got != "a" {
		t.Errorf("got %q, want a", got)
	}
	display.Register("test-b", func(any) (display.Bundle, bool) { panic("bad renderer") })
	if got := text(t, mine{}); !strings.Contains(got, "renderer test-b panicked: bad renderer") {
		t.Errorf("got %q", got)
	}
	display.Register("test-b", func(any) (display.Bundle, bool) { return display.Bundle{}, false })
}

// record is a sink that remembers.
type record struct {
	sync.Mutex
	events []string
	last   display.Bundle
}

func (r *record) Display(b display.Bundle, id string, update bool) {
	r.Lock()
	defer r.Unlock()
	r.last = b
	r.events = append(r.events, fmt.Sprintf("%v id=%t update=%t", b.Data["text/plain"], id != "", update))
}

func (r *record) Clear(wait bool) { r.events = append(r.events, fmt.Sprint("clear ", wait)) }

func TestShowReachesTheSink(t *testing.T) {
	r := &record{}
	defer display.SetSink(display.SetSink(r))
	display.Show(1, "two")
	h := display.Live("start")
	h.Update("next", 2)
	display.Clear(true)
	display.HTML("<b>h</b>")
	display.JSON(map[string]int{"a": 1})
	want := []string{
		"1 id=false update=false", "two id=false update=false",
		"start id=true update=false", "next, 2 id=true update=true",
		"clear true", "h id=false update=false", "map[a:1] id=false update=false",
	}
	if !reflect.DeepEqual(r.events, want) {
		t.Errorf("got  %q\nwant %q", r.events, want)
	}
	if !display.Rich() {
		t.Error("a sink without Rich method is rich")
	}
	if a, b := display.Live(1).ID(), display.Live(1).ID(); a == b {
		t.Errorf("two handles share the id %q", a)
	}
	// 1x1 PNG header: width and height are bytes 16 to 23.
	display.PNG([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\xe0\x08\x02"))
	if r.last.Data["text/plain"] != "PNG image, 640 x 480 pixels" {
		t.Errorf("PNG text %q", r.last.Data["text/plain"])
	}
}

func FuzzRenderHTMLText(f *testing.F) {
	f.Add("<p>a</p>")
	f.Add("<script>alert(1)</script><td>x")
	f.Add("<")
	f.Add("İ<STYLE>")
	f.Fuzz(func(t *testing.T, s string) {
		if _, ok := display.Of("text/html", s).Data["text/plain"].(string); !ok {
			t.Fatal("no text")
		}
		if e := display.Escape(s); strings.ContainsAny(e, "<>\"'") {
			t.Fatalf("Escape left markup in %q", e)
		}
	})
}
