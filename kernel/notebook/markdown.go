package notebook

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

// gfm renders GitHub's dialect, which is what JupyterLab renders too. Raw HTML
// passes through it and then through sanitize.
var gfm = goldmark.New(
	goldmark.WithExtensions(extension.GFM, extension.Footnote),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(gmhtml.WithUnsafe()),
)

// markdown renders a markdown text as HTML that runs no script. Attachments of
// the cell ("attachment:name" in links) become data URLs.
func markdown(src string, attachments map[string]any) (template.HTML, error) {
	for _, name := range slices.Sorted(maps.Keys(attachments)) {
		bundle, _ := attachments[name].(map[string]any)
		for _, mime := range slices.Sorted(maps.Keys(bundle)) {
			if text, ok := joined(bundle[mime]); ok && pictures[mime] {
				src = strings.ReplaceAll(src, "(attachment:"+name+")", "("+pictureURL(mime, text)+")")
				break
			}
		}
	}
	var b bytes.Buffer
	if err := gfm.Convert([]byte(src), &b); err != nil {
		return "", fmt.Errorf("rendering markdown: %w", err)
	}
	return sanitize(&b), nil
}

// allowed lists the elements that a markdown text may use; allowedAttrs the
// attributes, of which href and src must also name a harmless scheme.
var (
	allowed = set("a abbr b blockquote br caption center cite code col colgroup dd del details div dl dt em " +
		"figcaption figure font h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p pre q s samp section small span " +
		"strike strong sub summary sup table tbody td tfoot th thead tr tt u ul var")
	allowedAttrs = set("align alt checked class cite color colspan disabled height href id open rowspan scope " +
		"src start title type valign width")
	dropped = set("script style iframe object embed template noscript title textarea svg math") // with their content
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// sanitize copies HTML and leaves out what could act: unknown elements lose
// their tags, those in dropped their content too, and attributes are filtered.
func sanitize(r io.Reader) template.HTML {
	z := html.NewTokenizer(r)
	var b strings.Builder
	skip := "" // the dropped element we are inside of
	depth := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return template.HTML(b.String())
		case html.TextToken:
			if skip == "" {
				b.WriteString(html.EscapeString(z.Token().Data))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch {
			case skip != "":
				if t.Data == skip && t.Type == html.StartTagToken {
					depth++
				}
			case dropped[t.Data]:
				if t.Type == html.StartTagToken {
					skip, depth = t.Data, 1
				}
			case t.Data == "input" && !isCheckbox(t): // only the check boxes of task lists
			case allowed[t.Data]:
				t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool {
					return !allowedAttrs[a.Key] || (a.Key == "href" || a.Key == "src") && !harmless(t.Data, a.Val)
				})
				b.WriteString(t.String())
			}
		case html.EndTagToken:
			t := z.Token()
			switch {
			case skip != "":
				if t.Data == skip {
					if depth--; depth == 0 {
						skip = ""
					}
				}
			case allowed[t.Data]:
				b.WriteString(t.String())
			}
		}
	}
}

func isCheckbox(t html.Token) bool {
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "type" && a.Val == "checkbox" })
}

// harmless says whether a link's scheme runs nothing in the page.
func harmless(element, url string) bool {
	url = strings.ToLower(strings.Map(func(r rune) rune { // browsers ignore these inside a scheme
		if r <= ' ' {
			return -1
		}
		return r
	}, url))
	scheme, _, ok := strings.Cut(url, ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return true
	}
	switch scheme {
	case "http", "https", "mailto":
		return true
	case "data":
		return element == "img" && strings.HasPrefix(url, "data:image/")
	}
	return false
}
