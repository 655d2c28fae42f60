package notebook_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/notebook"
)

func page(t *testing.T, cells ...*notebook.Cell) string {
	t.Helper()
	var b bytes.Buffer
	if err := notebook.HTML(&b, notebook.New(cells...), "fallback"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// body cuts the style sheet off, which tests are not about.
func body(p string) string { return p[strings.Index(p, "<body>"):] }

func TestPageEscapesSourcesStreamsAndErrors(t *testing.T) {
	c := notebook.NewCell(notebook.Code, `s := "<script>alert(1)</script>" // <i> & "x"`)
	c.Outputs = []*notebook.Output{
		stream("stdout", "<script>out</script>"),
		failed("panic", "<script>err</script>"),
		shown("text/plain", "<script>plain</script>"),
		shown("application/json", map[string]any{"k": "<script>json</script>"}),
	}
	raw := notebook.NewCell(notebook.Raw, "<script>raw</script>")
	got := body(page(t, c, raw))
	if strings.Contains(strings.ToLower(got), "<script") {
		t.Errorf("a script got through:\n%s", got)
	}
	for _, want := range []string{"&lt;script&gt;out", "&lt;script&gt;err", "&lt;script&gt;plain", "&lt;script&gt;json", "&lt;script&gt;raw",
		`<span class="com">// &lt;i&gt; &amp; &#34;x&#34;</span>`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestPageKeepsTheTextOfSourcesWhole(t *testing.T) {
	for _, src := range []string{
		"%get x@v1\nfunc f[T any](x T) { return `a\nb` + 'c' + 1.5e3 /* <c> */ }\n!ls | wc\nf(1)",
		"\n\nbroken := \"unterminated\nfor {", "x := `a\r\nb` // é 中\r\n", "\x00\xff", "",
	} {
		got := page(t, notebook.NewCell(notebook.Code, src))
		doc, err := html.Parse(strings.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		// The HTML parser normalises line ends and replaces what is no text.
		want := strings.NewReplacer("\r\n", "\n", "\x00", "\ufffd", "\xff", "\ufffd").Replace(src)
		if text := textOf(find(doc, "code")); text != want {
			t.Errorf("source %q reads as %q", want, text)
		}
	}
}

func find(n *html.Node, element string) *html.Node {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && c.Data == element {
			return c
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func TestMarkdownIsRenderedAndDisarmed(t *testing.T) {
	const src = "# Head & *more*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n" +
		"<b onclick=\"evil()\">bold</b> <script>evil()</script> <img src=x onerror=evil()>\n\n" +
		"[a](javascript:evil()) [b](https://example.org/?q=1:2) <a href=\"java\nscript:evil()\">c</a> " +
		"<iframe src=\"https://example.org\">evil()</iframe> <style>evil()</style> <details><summary>s</summary>t</details>\n" +
		"![pic](attachment:p.png) ![data](data:text/html,evil())"
	c := notebook.NewCell(notebook.Markdown, src)
	c.Extra = map[string]any{"attachments": map[string]any{"p.png": map[string]any{"image/png": "aGVsbG8="}}}
	got := body(page(t, c))
	if strings.Contains(got, "evil") || strings.Contains(got, "onclick") || strings.Contains(got, "<iframe") {
		t.Errorf("something that acts got through:\n%s", got)
	}
	for _, want := range []string{"<h1", "Head &amp; <em>more</em>", "<td>1</td>", `type="checkbox"`, "<b>bold</b>",
		`href="https://example.org/?q=1:2"`, "<details><summary>s</summary>", `src="data:image/png;base64,aGVsbG8="`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestPageIsSelfContainedAndFollowsTheReadersTheme(t *testing.T) {
	pic := &notebook.Output{Type: notebook.ResultOutput, Count: 4, Bundle: display.Bundle{Data: map[string]any{
		"text/plain": `plot "x"`, "image/png": "aGVs\nbG8=\n"}}}
	svg := shown("image/svg+xml", `<svg onload="evil()"></svg>`)
	table := shown("text/html", "<table><tr><td>cell</td></tr></table>")
	c := notebook.NewCell(notebook.Code, "x")
	c.Outputs = []*notebook.Output{pic, svg, table}
	got := page(t, notebook.NewCell(notebook.Markdown, "# A < B"), c)
	for _, want := range []string{"<title>A &lt; B</title>", "prefers-color-scheme: dark", `src="data:image/png;base64,aGVsbG8="`,
		`alt="plot &#34;x&#34;"`, `src="data:image/svg&#43;xml;base64,PHN2ZyBvbmxvYWQ9ImV2aWwoKSI&#43;PC9zdmc&#43;"`, "<td>cell</td>", "[4]:"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, unwanted := range []string{"<script", "<link", "@import", "url("} {
		if strings.Contains(got, unwanted) {
			t.Errorf("the page reaches outside or runs something: %q", unwanted)
		}
	}
}

func TestTerminalColoursBecomeSpans(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"\x1b[31mred\x1b[0m <x>", `<span class="ansi-1">red</span> &lt;x&gt;`},
		{"\x1b[1;92mok\x1b[m", `<span class="ansi-10 ansi-bold">ok</span>`},
		{"\x1b[38;2;1;2;255mc\x1b[39md", `<span style="color:#0102ff">c</span>d`},
		{"\x1b[48;5;9mbg", `<span class="ansi-bg-9">bg</span>`},
		// Entry 208 of xterm's palette: 16 + 36*5 + 6*2 + 0, so levels 255, 135, 0.
		{"\x1b[38;5;208mo", `<span style="color:#ff8700">o</span>`},
		{"\x1b[3;4;2mx\x1b[22;23;24my", `<span class="ansi-faint ansi-italic ansi-underline">x</span>y`},
		{"a\x1b[2Kb\x1b]0;title\x07c\x1b]8;;u\x1b\\d", "abcd"},
		{"cut\x1b[3", "cut"},
		{"cut\x1b", "cut"},
		{"\x1b[38mx\x1b[99zy", "xy"},
	} {
		c := notebook.NewCell(notebook.Code, "x")
		c.Outputs = []*notebook.Output{stream("stdout", tt.in)}
		got := body(page(t, c))
		if want := "<pre>\n" + tt.want + "</pre>"; !strings.Contains(got, want) {
			t.Errorf("%q: want %s in\n%s", tt.in, want, got)
		}
	}
}
