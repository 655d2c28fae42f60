package target

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a time as "90s" or "10m".
type Duration time.Duration

// UnmarshalText reads a duration above 0.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf(`%q is no time above 0: write it as "90s" or "10m"`, text)
	}
	*d = Duration(v)
	return nil
}

// Value is the duration as the standard library has it.
func (d Duration) Value() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// Bytes is a size as "512MiB" or "2GiB".
type Bytes int64

var (
	size  = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGT]i?)?B$`)
	units = map[string]float64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ki": 1 << 10, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
)

// UnmarshalText reads a size of at least one byte.
func (b *Bytes) UnmarshalText(text []byte) error {
	m := size.FindStringSubmatch(string(text))
	fault := fmt.Errorf(`%q is no size above 0: write it as "512MiB" or "2GiB"`, text)
	if m == nil {
		return fault
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if v *= units[m[2]]; err != nil || v < 1 || v > math.MaxInt64/2 {
		return fault
	}
	*b = Bytes(v)
	return nil
}

// Command is the arguments of a process, the program first.
type Command []string

// UnmarshalTOML reads a list of strings. A string alone is refused: a shell's
// quoting would apply to it, and no shell reads it.
func (c *Command) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New(`a command is a list of arguments, such as ["cc", "-O2", "heat.c"]; for a line of a shell write ["sh", "-c", "..."]`)
	}
	for _, a := range list {
		s, ok := a.(string)
		if !ok {
			return fmt.Errorf("the argument %v is no string: put it into quotes", a)
		}
		*c = append(*c, s)
	}
	return nil
}

func (c Command) String() string {
	var out []string
	for _, a := range c {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`*?[]#~=%|&;<>(){}!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

// Placeholder is a word in braces that stands for something in a command.
type Placeholder string

// Placeholders.
const (
	Seed     Placeholder = "seed"
	Size     Placeholder = "size"
	Profiled Placeholder = "profile"
)

var braces = regexp.MustCompile(`\{\{|\}\}|\{[A-Za-z_]+\}`)

// Expand is the command with values for its placeholders. It is an error if one
// has no value.
func (c Command) Expand(values map[Placeholder]string) (Command, error) {
	var missing error
	out := make(Command, len(c))
	for i, a := range c {
		out[i] = braces.ReplaceAllStringFunc(a, func(s string) string {
			switch s {
			case "{{":
				return "{"
			case "}}":
				return "}"
			}
			v, ok := values[Placeholder(s[1:len(s)-1])]
			if !ok && missing == nil {
				missing = fmt.Errorf("the argument %q of %s: %s has no value here", a, c, s)
			}
			return v
		})
	}
	if missing != nil {
		return nil, missing
	}
	return out, nil
}

// placeholders are those of a command, as they stand there, each once.
func (c Command) placeholders() map[Placeholder]bool {
	out := map[Placeholder]bool{}
	for _, a := range c {
		for _, s := range braces.FindAllString(a, -1) {
			if len(s) > 2 {
				out[Placeholder(s[1:len(s)-1])] = true
			}
		}
	}
	return out
}
