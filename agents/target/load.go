package target

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxFile is the size in bytes beyond which a file is no description.
const maxFile = 1 << 20

// Load reads and checks a description. Its error joins an *Error for each fault.
func Load(path string) (*Target, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the target: %w", err)
	}
	if info.IsDir() || info.Size() > maxFile {
		return nil, fmt.Errorf("reading the target %s: it is a folder or longer than %d bytes: give the TOML file that describes a target", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the target: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("reading the target %s: %w", path, err)
	}
	t := &Target{Path: path, Dir: dir}
	c := checker{file: path, keys: scanKeys(string(text)), t: t}
	meta, err := toml.Decode(string(text), t)
	if err != nil {
		return nil, c.decoding(err)
	}
	c.unknown(meta.Undecoded())
	c.target()
	if len(c.faults) > 0 {
		slices.SortStableFunc(c.faults, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
		all := make([]error, len(c.faults))
		for i, f := range c.faults {
			all[i] = f
		}
		return nil, errors.Join(all...)
	}
	t.defaults()
	return t, nil
}

// checker collects faults.
type checker struct {
	file   string
	keys   []keyLine
	t      *Target
	faults []*Error
}

// fault notes one at a key.
func (c *checker) fault(key, format string, args ...any) {
	c.faults = append(c.faults, &Error{c.file, c.line(key), key, fmt.Sprintf(format, args...)})
}

// line is that of a key, of the first such key where it has no index, or of the
// next one above it that the file has.
func (c *checker) line(key string) int {
	for key != "" {
		for _, k := range c.keys {
			if k.key == key || index.ReplaceAllString(k.key, "") == key {
				return k.line
			}
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

func (c *checker) has(key string) bool {
	return slices.ContainsFunc(c.keys, func(k keyLine) bool { return k.key == key })
}

var decodeFault = regexp.MustCompile(`^toml: (?:line (\d+) )?\(last key "([^"]*)"\): (.*)$`)

// decoding is an error of the decoder in our form.
func (c *checker) decoding(err error) error {
	if pe := (toml.ParseError{}); errors.As(err, &pe) {
		return &Error{c.file, pe.Position.Line, pe.LastKey, pe.Message}
	}
	if m := decodeFault.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		what := strings.NewReplacer("incompatible types: TOML value has type ", "found ", "; destination has type ", ", expected ", "int64", "integer", "float64", "float", "slice", "a list in [ ]").Replace(m[3])
		return &Error{c.file, line, m[2], what}
	}
	return &Error{File: c.file, What: strings.TrimPrefix(err.Error(), "toml: ")}
}

// index is the place of an element in the path of a key.
var index = regexp.MustCompile(`\[\d+\]`)

// unknown notes keys that nothing reads. The decoder takes keys in any case;
// here they are as they are documented.
func (c *checker) unknown(undecoded []toml.Key) {
	names := map[string]bool{}
	for _, k := range undecoded {
		names[strings.Join(k, ".")] = true
	}
	seen := map[string]bool{}
	for _, k := range c.keys {
		plain := index.ReplaceAllString(k.key, "")
		if names[plain] || plain != strings.ToLower(plain) && !strings.HasPrefix(plain, "run.environment.") {
			seen[plain] = true
			c.fault(k.key, "there is no such key: %s", known(plain))
		}
	}
	for _, k := range undecoded { // within inline tables
		plain := strings.Join(k, ".")
		above := slices.ContainsFunc(undecoded, func(o toml.Key) bool { return len(o) < len(k) && slices.Equal(o, k[:len(o)]) })
		if !seen[plain] && !above {
			c.fault(plain, "there is no such key: %s", known(plain))
		}
	}
}

// known says which keys there are beside a key.
func known(key string) string {
	t := reflect.TypeFor[Target]()
	path := strings.Split(key, ".")
	for _, part := range path[:len(path)-1] {
		next, ok := field(t, part)
		if !ok {
			break
		}
		t = next
	}
	if t.Kind() != reflect.Struct {
		return "it holds a value and no keys"
	}
	var names []string
	for i := range t.NumField() {
		if n := t.Field(i).Tag.Get("toml"); n != "" && n != "-" {
			names = append(names, n)
		}
	}
	return "here are " + strings.Join(names, ", ")
}

// field is the type behind a key of a table.
func field(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("toml") == key {
			f := t.Field(i).Type
			for f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice {
				f = f.Elem()
			}
			return f, true
		}
	}
	return nil, false
}

// keyLine is a key with its path and the line that it begins in.
type keyLine struct {
	key  string // "output[1].file"
	line int
}

var (
	headLine = regexp.MustCompile(`^\s*(\[\[?)\s*([^\]]+?)\s*\]`)
	keyStart = regexp.MustCompile(`^\s*([A-Za-z0-9_."'-]+(?:\s*\.\s*[A-Za-z0-9_."'-]+)*)\s*=`)
)

// scanKeys finds the lines of keys in a valid TOML text; the decoder does not
// tell them. Keys within inline tables are not looked for.
func scanKeys(text string) []keyLine {
	var out []keyLine
	prefix, depth := "", 0
	count := map[string]int{}
	for i, l := range strings.Split(blank(text), "\n") {
		if depth == 0 {
			if m := headLine.FindStringSubmatch(l); m != nil {
				prefix = strings.ReplaceAll(m[2], " ", "")
				if m[1] == "[[" {
					n := count[prefix]
					count[prefix]++
					prefix = fmt.Sprintf("%s[%d]", prefix, n)
				}
				out = append(out, keyLine{prefix, i + 1})
				continue
			}
			if m := keyStart.FindStringSubmatch(l); m != nil {
				key := strings.NewReplacer(" ", "", `"`, "", "'", "").Replace(m[1])
				if prefix != "" {
					key = prefix + "." + key
				}
				out = append(out, keyLine{key, i + 1})
			}
		}
		depth = max(0, depth+strings.Count(l, "[")+strings.Count(l, "{")-strings.Count(l, "]")-strings.Count(l, "}"))
	}
	return out
}

// blank is a TOML text of the same lines without comments, and with strings
// emptied.
func blank(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case '"', '\'':
			q := string(c)
			if strings.HasPrefix(text[i:], q+q+q) {
				q += q + q
			}
			end := i + len(q)
			for end < len(text) && !strings.HasPrefix(text[end:], q) && (len(q) == 3 || text[end] != '\n') {
				if text[end] == '\n' {
					b.WriteByte('\n')
				}
				if text[end] == '\\' && c == '"' {
					end++
					if end < len(text) && text[end] == '\n' {
						b.WriteByte('\n')
					}
				}
				end++
			}
			b.WriteString("''")
			i = min(len(text), end+len(q))
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}
