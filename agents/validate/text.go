package validate

import (
	"bufio"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// number is a number in a text, as C and Fortran print them. One that follows
// a letter, a digit or _ is part of a name.
var number = regexp.MustCompile(`(?i)[-+]?(?:\d+(?:\.\d*)?(?:[ed][-+]?\d+)?|\.\d+(?:[ed][-+]?\d+)?|\binf(?:inity)?\b|\bnan\b)`)

// lines of a text, those left out that the output ignores.
type lines struct {
	r      *bufio.Reader
	ignore []*regexp.Regexp
	at     int64 // the number of the last line
}

// next is a line without its end; ok is false when there is none.
func (l *lines) next() (line string, ok bool, err error) {
	for {
		line, err = l.r.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", false, err
		}
		if line == "" {
			return "", false, nil
		}
		l.at++
		line = strings.TrimSuffix(line, "\n")
		skip := false
		for _, re := range l.ignore {
			skip = skip || re.MatchString(line)
		}
		if !skip {
			return line, true, nil
		}
	}
}

// text compares lines: exactly, or by their numbers and the words between.
func (c *Comparison) text(o Output, want, got *bufio.Reader) error {
	ignore, err := o.ignored()
	if err != nil {
		return err
	}
	w, g := &lines{r: want, ignore: ignore}, &lines{r: got, ignore: ignore}
	for {
		lw, okw, err := w.next()
		if err != nil {
			return err
		}
		lg, okg, err := g.next()
		if err != nil {
			return err
		}
		if !okw && !okg {
			return nil
		}
		switch {
		case !okw:
			c.first(&Difference{Index: c.Got, Got: strconv.Quote(lg), Error: math.NaN()})
		case !okg:
			c.first(&Difference{Index: c.Want, Line: w.at, Want: strconv.Quote(lw), Error: math.NaN()})
		case o.Rule == Exact && lw != lg:
			c.Different++
			c.first(&Difference{Index: c.Want, Line: w.at, Want: strconv.Quote(lw), Got: strconv.Quote(lg), Error: math.NaN()})
		case o.Rule != Exact:
			c.line(lw, lg, w.at)
			continue
		}
		if o.Rule == Exact {
			c.Want, c.Got = c.Want+count(okw), c.Got+count(okg)
		} else {
			// A line that only one side has counts even without a number in it.
			c.Want, c.Got = c.Want+max(count(okw), numbers(lw)), c.Got+max(count(okg), numbers(lg))
		}
	}
}

func count(there bool) int64 {
	if there {
		return 1
	}
	return 0
}

func numbers(line string) int64 { return int64(len(split(line))) / 2 }

// line compares the numbers of a line, and the words between, by the tolerance.
func (c *Comparison) line(want, got string, at int64) {
	w, g := split(want), split(got)
	if len(w) != len(g) {
		c.Different++
		c.first(&Difference{Index: c.Want, Line: at, Want: strconv.Quote(want), Got: strconv.Quote(got), Error: math.NaN()})
		c.Want, c.Got = c.Want+int64(len(w))/2, c.Got+int64(len(w))/2
		return
	}
	for i := range w {
		if i%2 == 0 { // words
			if strings.Join(strings.Fields(w[i]), " ") != strings.Join(strings.Fields(g[i]), " ") {
				c.Different++
				c.first(&Difference{Index: c.Want, Line: at, Want: strconv.Quote(want), Got: strconv.Quote(got), Error: math.NaN()})
			}
			continue
		}
		a, b := parse(w[i]), parse(g[i])
		d := c.note(a, b, 64)
		if !c.Tolerance.same(a, b, 64) {
			c.Different++
			c.first(&Difference{Index: c.Want, Line: at, Want: w[i], Got: g[i], Error: d})
		}
		c.Want, c.Got = c.Want+1, c.Got+1
	}
}

// split cuts a line into words, number, words, number, ... words.
func split(line string) []string {
	var parts []string
	from := 0
	for _, m := range number.FindAllStringIndex(line, -1) {
		if m[0] > 0 && name(line[m[0]-1]) && line[m[0]] != '-' && line[m[0]] != '+' {
			continue
		}
		if m[1] < len(line) && name(line[m[1]]) {
			continue // 3D, 0x1f
		}
		parts = append(parts, line[from:m[0]], line[m[0]:m[1]])
		from = m[1]
	}
	return append(parts, line[from:])
}

func name(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// parse reads a number; one that is too large is an infinity.
func parse(s string) float64 {
	v, err := strconv.ParseFloat(strings.NewReplacer("d", "e", "D", "e").Replace(s), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return math.NaN()
	}
	return v
}
