package notebook

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// ansiHTML turns text with terminal colours into escaped HTML: the sixteen
// standard colours, bold, italic and underline become spans with classes of the
// page's style sheet, 256-colour and true-colour codes become inline colours,
// and every other escape sequence is dropped.
func ansiHTML(text string) template.HTML {
	var b strings.Builder
	var st ansiStyle
	open := false
	for text != "" {
		i := strings.IndexByte(text, 0x1b)
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			if tag := st.tag(); tag != "" && !open {
				b.WriteString(tag)
				open = true
			}
			b.WriteString(template.HTMLEscapeString(text[:i]))
			text = text[i:]
			continue
		}
		params, final, n := escapeSequence(text)
		text = text[n:]
		if final == 'm' {
			if open {
				b.WriteString("</span>")
				open = false
			}
			st.apply(params)
		}
	}
	if open {
		b.WriteString("</span>")
	}
	return template.HTML(b.String())
}

// escapeSequence reads one sequence at the start of s (which begins with ESC)
// and returns its parameters, its final byte and its length.
func escapeSequence(s string) (params string, final byte, n int) {
	if len(s) < 2 {
		return "", 0, len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters, then a byte from @ to ~
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return s[2:i], s[i], i + 1
			}
		}
		return "", 0, len(s)
	case ']': // OSC: up to BEL or ESC \
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return "", 0, i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return "", 0, i + 2
			}
		}
		return "", 0, len(s)
	}
	return "", 0, 2
}

// ansiStyle is the current rendition; colours are class names or "#rrggbb".
type ansiStyle struct {
	fg, bg                          string
	bold, faint, italic, underlined bool
}

func (st *ansiStyle) apply(params string) {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		codes = []string{"0"}
	}
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			return
		}
		switch {
		case n == 0:
			*st = ansiStyle{}
		case n == 1:
			st.bold = true
		case n == 2:
			st.faint = true
		case n == 3:
			st.italic = true
		case n == 4:
			st.underlined = true
		case n == 22:
			st.bold, st.faint = false, false
		case n == 23:
			st.italic = false
		case n == 24:
			st.underlined = false
		case n >= 30 && n <= 37:
			st.fg = fmt.Sprintf("ansi-%d", n-30)
		case n >= 90 && n <= 97:
			st.fg = fmt.Sprintf("ansi-%d", n-90+8)
		case n == 39:
			st.fg = ""
		case n >= 40 && n <= 47:
			st.bg = fmt.Sprintf("ansi-bg-%d", n-40)
		case n >= 100 && n <= 107:
			st.bg = fmt.Sprintf("ansi-bg-%d", n-100+8)
		case n == 49:
			st.bg = ""
		case n == 38 || n == 48:
			c, used := extendedColour(codes[i+1:])
			i += used
			if n == 38 {
				st.fg = c
			} else {
				st.bg = strings.Replace(c, "ansi-", "ansi-bg-", 1)
			}
		}
	}
}

// extendedColour reads "5;n" (the 256-colour palette of xterm) or "2;r;g;b".
func extendedColour(codes []string) (colour string, used int) {
	num := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return min(max(n, 0), 255)
	}
	switch num(0) {
	case 2:
		return fmt.Sprintf("#%02x%02x%02x", num(1), num(2), num(3)), 4
	case 5:
		n := num(1)
		switch {
		case n < 16:
			return fmt.Sprintf("ansi-%d", n), 2
		case n < 232:
			level := func(v int) int {
				if v == 0 {
					return 0
				}
				return 55 + 40*v
			}
			n -= 16
			return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6)), 2
		}
		g := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", g, g, g), 2
	}
	return "", 1
}

func (st *ansiStyle) tag() string {
	var class, style []string
	colour := func(c, property string) {
		switch {
		case strings.HasPrefix(c, "#"):
			style = append(style, property+":"+c)
		case c != "":
			class = append(class, c)
		}
	}
	colour(st.fg, "color")
	colour(st.bg, "background")
	for _, f := range []struct {
		on   bool
		name string
	}{{st.bold, "ansi-bold"}, {st.faint, "ansi-faint"}, {st.italic, "ansi-italic"}, {st.underlined, "ansi-underline"}} {
		if f.on {
			class = append(class, f.name)
		}
	}
	var b strings.Builder
	if len(class) > 0 {
		fmt.Fprintf(&b, ` class="%s"`, strings.Join(class, " "))
	}
	if len(style) > 0 {
		fmt.Fprintf(&b, ` style="%s"`, strings.Join(style, ";"))
	}
	if b.Len() == 0 {
		return ""
	}
	return "<span" + b.String() + ">"
}
