package display

import "strings"

// combine makes one bundle of the results of a call with several results: the
// texts as Go prints a list of results, and HTML when one of them has a
// picture or a table.
func combine(parts []Bundle) Bundle {
	texts := make([]string, len(parts))
	long, rich := false, false
	total := 0
	for i, p := range parts {
		texts[i], _ = p.Data["text/plain"].(string)
		total += len(texts[i]) + 2
		long = long || strings.Contains(texts[i], "\n")
		rich = rich || len(p.Data) > 1
	}
	sep := ", "
	if long || total > lineWidth {
		sep = "\n"
	}
	b := Bundle{Data: map[string]any{"text/plain": strings.Join(texts, sep)}}
	if rich {
		var html strings.Builder
		for _, p := range parts {
			html.WriteString("<div>")
			html.WriteString(asHTML(p))
			html.WriteString("</div>\n")
		}
		b.Data["text/html"] = html.String()
	}
	return b
}

// asHTML embeds a bundle in an HTML page.
func asHTML(b Bundle) string {
	text := func(mime string) (string, bool) { s, ok := b.Data[mime].(string); return s, ok }
	if s, ok := text("text/html"); ok {
		return s
	}
	plain, _ := text("text/plain")
	// An <img> keeps the identifiers of several SVGs on a page apart and runs
	// no script.
	if s, ok := text("image/svg+xml"); ok {
		svg := Of("application/octet-stream", []byte(s)).Data["application/octet-stream"].(string)
		return `<img alt="` + Escape(plain) + `" src="data:image/svg+xml;base64,` + svg + `">`
	}
	for _, mime := range []string{"image/png", "image/jpeg"} {
		if s, ok := text(mime); ok {
			return `<img alt="` + Escape(plain) + `" src="data:` + mime + `;base64,` + Escape(s) + `">`
		}
	}
	return "<pre>" + Escape(plain) + "</pre>"
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\x00", "\uFFFD")

// Escape makes text safe inside HTML elements and quoted attributes.
func Escape(text string) string { return escaper.Replace(text) }

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&nbsp;", " ", "&amp;", "&")

// textOfHTML is the text that a terminal shows for HTML: tags dropped, breaks
// kept at block ends, script and style left out. It is for reading only, not
// a sanitiser.
func textOfHTML(html string) string {
	var out strings.Builder
	lower := strings.ToLower(html)
	if len(lower) != len(html) { // case folding changed byte offsets
		lower = html
	}
	for i := 0; i < len(html); {
		if html[i] != '<' {
			next := strings.IndexByte(html[i:], '<')
			if next < 0 {
				next = len(html) - i
			}
			out.WriteString(html[i : i+next])
			i += next
			continue
		}
		rest := lower[i:]
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			break
		}
		tag := strings.TrimLeft(rest[1:end], "/")
		if cut := strings.IndexAny(tag, " \t\n/"); cut >= 0 {
			tag = tag[:cut]
		}
		i += end + 1
		closing := strings.HasPrefix(rest, "</")
		switch tag {
		case "script", "style":
			if !closing {
				if stop := strings.Index(lower[i:], "</"+tag); stop >= 0 {
					i += stop
				} else {
					i = len(html)
				}
			}
		case "br", "hr":
			out.WriteByte('\n')
		case "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "pre", "table":
			if closing {
				out.WriteByte('\n')
			}
		case "td", "th":
			if closing {
				out.WriteByte(' ')
			}
		}
	}
	lines := strings.Split(unescaper.Replace(out.String()), "\n")
	kept := lines[:0]
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}
