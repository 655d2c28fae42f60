package collectors

import (
	"fmt"
	"strconv"
	"strings"
)

// Style says what a number's text tells of the locale that wrote it.
type Style int

// Styles of numbers.
const (
	NotNumber Style = iota
	Plain           // digits alone: the same everywhere
	Ambiguous       // "117.344" and "117,344": thousands or decimals, by locale
	Dot             // the decimal separator is a point, "1,234.5"
	Comma           // the decimal separator is a comma, "1.234,5"
)

// grouping are separators of thousands that are never decimal ones.
var grouping = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "", "\u2019", "")

// ungroup trims a number and takes those separators out.
func ungroup(s string) string {
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' || s[i] == '\'' || s[i] >= 0x80 {
			return grouping.Replace(s)
		}
	}
	return s
}

// StyleOf looks at a number's text. A file has one style: readers of files
// that a locale may have changed decide once per file, never per number.
func StyleOf(s string) Style {
	s = ungroup(s)
	s = strings.TrimLeft(s, "+-")
	mantissa, exp, hasExp := cutExponent(s)
	if hasExp {
		if _, err := strconv.Atoi(exp); err != nil {
			return NotNumber
		}
	}
	digits, dots, commas, last := 0, 0, 0, byte(0)
	for i := 0; i < len(mantissa); i++ {
		switch c := mantissa[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			dots, last = dots+1, c
		case c == ',':
			commas, last = commas+1, c
		default:
			return NotNumber
		}
	}
	sep, other := byte(','), byte('.')
	if last == '.' {
		sep, other = '.', ','
	}
	switch {
	case digits == 0:
		return NotNumber
	case dots+commas == 0:
		return Plain
	case dots > 0 && commas > 0: // the last one is the decimal separator
		whole, _, _ := strings.Cut(mantissa, string(sep))
		if strings.Count(mantissa, string(sep)) > 1 || !grouped(whole, other) {
			return NotNumber
		}
		return decimalStyle(sep)
	case dots+commas > 1: // several of one kind: they group
		if !grouped(mantissa, sep) {
			return NotNumber
		}
		return decimalStyle(other)
	}
	whole, frac, _ := strings.Cut(mantissa, string(sep))
	if len(frac) != 3 || len(whole) == 0 || len(whole) > 3 || whole[0] == '0' || hasExp {
		return decimalStyle(sep)
	}
	return Ambiguous
}

func decimalStyle(sep byte) Style {
	if sep == ',' {
		return Comma
	}
	return Dot
}

// grouped reports whether s is digits in groups of three.
func grouped(s string, sep byte) bool {
	parts := strings.Split(s, string(sep))
	for i, p := range parts {
		if i == 0 && (len(p) == 0 || len(p) > 3) || i > 0 && len(p) != 3 {
			return len(parts) == 1 // no grouping at all is fine
		}
	}
	return true
}

func cutExponent(s string) (mantissa, exp string, has bool) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// ParseNumber reads a number of style Dot or Comma, times ten to the power of
// exp10. The result is the float64 nearest to the exact product, so scaling a
// unit costs no accuracy.
func ParseNumber(s string, style Style, exp10 int) (float64, error) {
	clean := ungroup(s)
	got := StyleOf(s)
	if got == NotNumber || got == Dot && style == Comma || got == Comma && style == Dot {
		return 0, fmt.Errorf("%s is not a number%s", Quote(s), styleNames[style])
	}
	if style == Comma {
		clean = strings.ReplaceAll(clean, ".", "")
		clean = strings.Replace(clean, ",", ".", 1)
	} else {
		clean = strings.ReplaceAll(clean, ",", "")
	}
	mantissa, exp, has := cutExponent(clean)
	if has {
		e, err := strconv.Atoi(exp)
		if err != nil || e > 100000 || e < -100000 {
			return 0, fmt.Errorf("%s has an exponent out of range", Quote(s))
		}
		exp10 += e
	}
	v, err := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(exp10), 64)
	if err != nil {
		return 0, fmt.Errorf("%s does not fit a number of 64 bits", Quote(s))
	}
	return v, nil
}

var styleNames = map[Style]string{Dot: " with a decimal point", Comma: " with a decimal comma"}
