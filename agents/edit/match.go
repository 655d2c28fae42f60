package edit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// lines is a text by lines, with the line end of each. The last line of a text
// may have none.
type lines struct {
	text []string
	ends []string
}

func split(text string) lines {
	var l lines
	for text != "" {
		line, rest, found := strings.Cut(text, "\n")
		end := ""
		if found {
			end = "\n"
			if cut, ok := strings.CutSuffix(line, "\r"); ok {
				line, end = cut, "\r\n"
			}
		}
		l.text, l.ends = append(l.text, line), append(l.ends, end)
		text = rest
	}
	return l
}

func (l lines) String() string {
	var b strings.Builder
	for i, t := range l.text {
		b.WriteString(t)
		b.WriteString(l.ends[i])
	}
	return b.String()
}

// find is the first line, from 0, of the one place where a hunk applies, and
// the hunk as it applies there. With loose, white space differs.
func (l lines) find(h Hunk) (at int, found Hunk, loose bool, fault *Rejection) {
	switch at := places(l.text, h.Search); {
	case len(at) == 1:
		return at[0], h, false, nil
	case len(at) > 1 && slices.Contains(at, h.At-1):
		return h.At - 1, h, false, nil
	case len(at) > 1:
		return 0, h, false, notUnique(at)
	}
	h = trimBlank(h)
	text, search := flat(l.text), flat(h.Search)
	switch at := places(text, search); len(at) {
	case 1:
		return at[0], h, true, nil
	case 0:
		if plain, ok := unnumbered(h); ok {
			for _, place := range places(text, flat(plain.Search)) {
				if place == plain.At-1 {
					return place, plain, true, nil
				}
			}
		}
		return 0, h, false, notFound(text, search)
	default:
		return 0, h, false, notUnique(at)
	}
}

// shownLine is a line of source as prompts show it: with a bar, its number, and a
// star where it may be changed.
var shownLine = regexp.MustCompile(`^\|?\s*(\d{1,7})[* ](?: (.*))?$`)

// unnumbered takes the numbers off search lines that were copied with them, if
// all have one, each one more than the one before. They say where it is.
func unnumbered(h Hunk) (Hunk, bool) {
	out := Hunk{File: h.File, Line: h.Line}
	for i, l := range h.Search {
		m := shownLine.FindStringSubmatch(l)
		if m == nil {
			return h, false
		}
		n, err := strconv.Atoi(m[1])
		if i == 0 {
			out.At = n
		}
		if err != nil || n != out.At+i {
			return h, false
		}
		out.Search = append(out.Search, m[2])
	}
	for _, l := range h.Replace {
		if m := shownLine.FindStringSubmatch(l); m != nil {
			l = m[2]
		}
		out.Replace = append(out.Replace, l)
	}
	return out, len(out.Search) > 0
}

// places are all lines of a text, from 0, where others are found.
func places(text, search []string) []int {
	var out []int
	if len(search) == 0 {
		return nil
	}
	for i := 0; i+len(search) <= len(text); i++ {
		if slices.Equal(text[i:i+len(search)], search) {
			out = append(out, i)
		}
	}
	return out
}

// flat is lines with any white space taken as alike.
func flat(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// trimBlank takes blank lines that Search and Replace begin and end with in
// common out of them, and those that only Search has.
func trimBlank(h Hunk) Hunk {
	blank := func(ls []string, i int) bool { return strings.TrimSpace(ls[i]) == "" }
	for len(h.Search) > 0 && blank(h.Search, 0) {
		if len(h.Replace) > 0 && blank(h.Replace, 0) {
			h.Replace = h.Replace[1:]
		}
		h.Search = h.Search[1:]
	}
	for n := len(h.Search); n > 0 && blank(h.Search, n-1); n-- {
		if m := len(h.Replace); m > 0 && blank(h.Replace, m-1) {
			h.Replace = h.Replace[:m-1]
		}
		h.Search = h.Search[:n-1]
	}
	return h
}

func notUnique(places []int) *Rejection {
	var at []string
	for _, p := range places {
		if len(at) == 5 {
			at = append(at, "...")
			break
		}
		at = append(at, fmt.Sprint(p+1))
	}
	return &Rejection{Reason: NotUnique, Detail: fmt.Sprintf("the search text is at lines %s: add lines around it until it is at one place", strings.Join(at, ", "))}
}

func notFound(text, search []string) *Rejection {
	r := &Rejection{Reason: NotFound}
	if len(search) == 0 {
		r.Detail = "the search text is empty: search for lines beside the place"
		return r
	}
	r.Detail = "the search text is not in the file: copy whole lines exactly"
	for i, s := range search {
		if !slices.Contains(text, s) {
			r.Detail += fmt.Sprintf("; its line %d, %q, is not there", i+1, clip(s))
			break
		}
	}
	return r
}

func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return s
}

// replacement is lines of a text, from 0 and without the last, with those that
// replace them.
type replacement struct {
	from, to int
	lines    []string
}

// changes are the least replacements that make b of a, whose first line is at
// an offset: a longest common subsequence of lines stays. Very long texts
// change from the first line that differs to the last.
func changes(a, b []string, offset int) []replacement {
	begin, end := commonEnds(a, b)
	a, b = a[begin:len(a)-end], b[begin:len(b)-end]
	offset += begin
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	const most = 4 << 20 // cells of the table
	if (len(a)+1)*(len(b)+1) > most || len(a) == 0 || len(b) == 0 {
		return []replacement{{offset, offset + len(a), b}}
	}
	// common[i][j] is the length of the subsequence of a[i:] and b[j:].
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []replacement
	var now *replacement // the one that is being made
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			now = nil
			i++
			j++
			continue
		}
		if now == nil {
			out = append(out, replacement{from: offset + i})
			now = &out[len(out)-1]
		}
		if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
			i++
		} else {
			now.lines = append(now.lines, b[j])
			j++
		}
		now.to = offset + i
	}
	return out
}

// replace makes a text with replacements, which are in order and apart. New
// lines end as the text's first one does; whether the last line has an end
// stays.
func (l lines) replace(rs []replacement) lines {
	end := "\n"
	if len(l.ends) > 0 && l.ends[0] != "" {
		end = l.ends[0]
	}
	var out lines
	at := 0
	for _, r := range rs {
		out.text, out.ends = append(out.text, l.text[at:r.from]...), append(out.ends, l.ends[at:r.from]...)
		for i, t := range r.lines {
			e := end
			if r.from+i < r.to && l.ends[r.from+i] != "" {
				e = l.ends[r.from+i]
			}
			out.text, out.ends = append(out.text, t), append(out.ends, e)
		}
		at = r.to
	}
	out.text, out.ends = append(out.text, l.text[at:]...), append(out.ends, l.ends[at:]...)
	for i := range out.ends {
		if out.ends[i] == "" {
			out.ends[i] = end
		}
	}
	// An empty line without an end would be none.
	if n, m := len(l.ends), len(out.ends); n > 0 && l.ends[n-1] == "" && m > 0 && out.text[m-1] != "" {
		out.ends[m-1] = ""
	}
	return out
}
