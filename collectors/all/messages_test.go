package all_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
)

// inner are words of Go and of its libraries, which say nothing to those who
// read a message about their file.
var inner = regexp.MustCompile(`strconv\.|\bjson: |Go value|Go struct|\bxml: [a-z]+ [a-z]+ for|XML syntax error|encoding/|csv\.|invalid character .* looking|invalid character .* after|unexpected EOF|unexpected end of JSON|: EOF|runtime error|out of range \[|%!|<nil>|\(MISSING\)|fault of rooflab|parse error on line|bufio|\bproto: |\*[a-z]+\.[A-Z]|interface \{\}|map\[|float64|int64`)

// words are what changed files get in place of a number or a name.
var words = []string{"", "x1y", "-1", "1e999", "99999999999999999999", "0.5", "NaN", "\"", "{", "]", ",", "\x00", "null", "0x", "(", ";"}

var token = regexp.MustCompile(`[A-Za-z0-9_.]+`)

// damage makes n files of one, each with one fault: a piece cut off, a line
// taken out, a number or a word replaced.
func damage(content []byte, n int, r *rand.Rand) [][]byte {
	var files [][]byte
	for i := range n {
		at := r.IntN(len(content) + 1)
		switch i % 4 {
		case 0:
			files = append(files, content[:at])
		case 1:
			start := bytes.LastIndexByte(content[:at], '\n') + 1
			end := len(content)
			if j := bytes.IndexByte(content[at:], '\n'); j >= 0 {
				end = at + j + 1
			}
			files = append(files, append(bytes.Clone(content[:start]), content[end:]...))
		default:
			m := token.FindIndex(content[at:])
			if m == nil {
				continue
			}
			b := append(bytes.Clone(content[:at+m[0]]), words[r.IntN(len(words))]...)
			files = append(files, append(b, content[at+m[1]:]...))
		}
	}
	return files
}

// Whatever is wrong with a file, the message names it first, speaks of the file
// in the words of its format, and says nothing of the program that reads it.
func TestMessagesSpeakOfTheFile(t *testing.T) {
	const most = 32 << 10 // of a file: its beginning has all that can be wrong
	for _, dir := range []string{"samples", "data"} {
		for _, path := range filesBelow(t, shared+dir) {
			name := filepath.Base(path)
			t.Run(name, func(t *testing.T) {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
					if b, err = io.ReadAll(z); err != nil {
						t.Fatal(err)
					}
				}
				f, _, err := collectors.Detect(collectors.Head{Name: strings.TrimSuffix(name, ".gz"), Bytes: b[:min(len(b), collectors.HeadSize)], Whole: len(b) <= collectors.HeadSize})
				if err != nil {
					return // no profile
				}
				b = b[:min(len(b), most)]
				for _, content := range damage(b, 30, rand.New(rand.NewPCG(uint64(len(b)), 1))) {
					checkMessage(t, f.Name, name, string(content))
				}
			})
		}
	}
}

func checkMessage(t *testing.T, format, name, content string) {
	t.Helper()
	_, err := parsertest.Parse(format, name, content)
	if err == nil {
		return
	}
	var syntax *collectors.SyntaxError
	var unsupported *collectors.UnsupportedError
	var part *collectors.PartError
	msg := err.Error()
	shown := msg[:min(len(msg), 500)]
	switch {
	case !errors.As(err, &syntax) && !errors.As(err, &unsupported) && !errors.As(err, &part):
		t.Errorf("%s: the error is of type %T: %s", format, err, shown)
	case !strings.HasPrefix(msg, name+":"):
		t.Errorf("%s: the message does not begin with the file's name: %s", format, shown)
	case inner.MatchString(quoted.ReplaceAllString(strings.TrimPrefix(msg, name), `""`)):
		t.Errorf("%s: the message speaks of %q: %s", format, inner.FindString(quoted.ReplaceAllString(strings.TrimPrefix(msg, name), `""`)), shown)
	case len(msg) > 1000:
		t.Errorf("%s: the message has %d bytes: %s", format, len(msg), shown)
	case strings.HasSuffix(msg, ":") || strings.HasSuffix(msg, "; ") || strings.Contains(msg, "::") && !strings.Contains(content, "::"):
		t.Errorf("%s: a part of the message is missing: %s", format, shown)
	}
}

// quoted are texts of the file within messages.
var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// In a file of JSON the message names the very place, however the file is read,
// packed or not. The place is where the text was changed.
func TestBrokenJSONHasItsPlace(t *testing.T) {
	b, err := os.ReadFile(shared + "data/ktt-coulomb/coulomb_2080_full_search_space.json")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b[len(b)/2:], []byte(`":`)) + len(b)/2 + 1 // a colon
	b[at] = ';'
	line := bytes.Count(b[:at], []byte("\n")) + 1
	column := at - bytes.LastIndexByte(b[:at], '\n')
	for name, content := range map[string][]byte{"k.json": b, "k.json.gz": pack(t, b)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := parsertest.ParseFile(t, path)
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != line || e.Column != column || e.Expected != `":"` || e.Found != "';'" {
			t.Errorf("%s: %v, want line %d, column %d", name, err, line, column)
		}
	}
}
