package llmperf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// Check holds a launch that somebody describes against its source: a model
// predicts something for whatever it is given, also for what no device would run.
// It returns the launch with the kernel's name, and with each argument named as
// its parameter, by which its value counts. Notes say what of the source could
// not be read, and what was assumed in its place.
//
// Errors are a source without the kernel, arguments that are not those it takes,
// in the order of its parameters, and sizes that do not fit together.
func Check(x Example) (checked Example, notes []string, err error) {
	if strings.Contains(x.Source, "\x00") {
		return x, nil, errors.New("the source is no text: it holds bytes that are 0")
	}
	p := kernelcost.Parse(x.Source, csource.Options{})
	fn, err := kernelOf(p.Unit, x.Kernel)
	if err != nil {
		return x, nil, err
	}
	x.Kernel = fn.Name
	if x.Args, err = matched(fn, x.Args); err != nil {
		return x, nil, err
	}
	if len(x.Local) != 0 && len(x.Local) != len(x.Global) {
		return x, nil, fmt.Errorf("the global size %s has %d dimensions and the local size %s has %d: they must have as many", sizes(x.Global), len(x.Global), sizes(x.Local), len(x.Local))
	}
	c, err := p.Analyse(launchOf(x))
	if err != nil {
		return x, nil, err
	}
	for i, line := range strings.Split(x.Source, "\n") {
		if f := strings.Fields(strings.Replace(line, "#", "# ", 1)); len(f) > 2 && f[0] == "#" && f[1] == "include" {
			notes = append(notes, fmt.Sprintf("line %d: %s is not read: put its text in the place of the #include if the kernel needs it", i+1, f[2]))
		}
	}
	for _, q := range p.Unit.Problems {
		notes = append(notes, fmt.Sprintf("line %d: %s", q.Line, q.Text))
	}
	return x, append(notes, c.Notes...), nil
}

// kernelOf finds the kernel of a name, or the only one.
func kernelOf(u *csource.Unit, name string) (*csource.Function, error) {
	names := u.Kernels()
	first := ""
	if len(u.Problems) > 0 {
		first = fmt.Sprintf("; the first thing not understood is in line %d: %s", u.Problems[0].Line, u.Problems[0].Text)
	}
	switch fn := u.Find(name); {
	case len(names) == 0:
		return nil, fmt.Errorf("the source has no kernel: no function in it is marked __kernel%s", first)
	case name == "" && len(names) == 1:
		return u.Find(names[0]), nil
	case name == "":
		return nil, fmt.Errorf("the source has %d kernels, %s: name one of them", len(names), strings.Join(names, ", "))
	case fn == nil || !fn.Kernel:
		return nil, fmt.Errorf("the source has no kernel %s; it has %s%s", name, strings.Join(names, ", "), first)
	default:
		return fn, nil
	}
}

// matched are arguments with the names of the parameters that they are for.
func matched(fn *csource.Function, args []Argument) ([]Argument, error) {
	var wanted []string
	for i, p := range fn.Params {
		wanted = append(wanted, wants(p, i))
	}
	fail := func(format string, a ...any) ([]Argument, error) {
		return nil, fmt.Errorf("%s; kernel %s takes, in this order: %s", fmt.Sprintf(format, a...), fn.Name, strings.Join(wanted, " "))
	}
	if len(args) < len(wanted) {
		return fail("%d arguments are given, the first that is missing is number %d", len(args), len(args)+1)
	}
	if len(args) > len(wanted) {
		return fail("%d arguments are given, %s is one too many", len(args), args[len(wanted)])
	}
	out := make([]Argument, len(args))
	for i, a := range args {
		p := fn.Params[i]
		if a.Name != "" && p.Name != "" && a.Name != p.Name {
			return fail("argument %d is named %s, parameter %d is %s", i+1, a.Name, i+1, p.Name)
		}
		if why := unfit(p.Type, a); why != "" {
			return fail("argument %d, %s: %s", i+1, a, why)
		}
		if a.Name = p.Name; a.Name != args[i].Name && a.spec != "" {
			a.spec = a.Name + "=" + a.spec
		}
		out[i] = a
	}
	return out, nil
}

// unfit says why an argument cannot be for a parameter, "" where it can.
func unfit(t *csource.Type, a Argument) string {
	switch kind := kindOf(t); {
	case opaque(t):
		return fmt.Sprintf("its parameter is of type %s: a launch with it cannot be described, and no model has seen one", t.Name)
	case kind == "":
		return "" // of a type that the source does not declare anything may be right
	case kind != a.Kind:
		return fmt.Sprintf("it is for %s, this is %s", described[kind], described[a.Kind])
	}
	switch a.Kind {
	case Buffer, Local:
		if a.Bytes == 0 {
			return "it has no bytes: a device takes no empty buffer"
		}
	case Raw:
		if a.Bytes != int64(t.Size()) {
			return fmt.Sprintf("it has %d bytes, the parameter %d", a.Bytes, t.Size())
		}
	case Scalar:
		want := nameOf(t)
		if strings.TrimPrefix(want, "u") != strings.TrimPrefix(a.Type, "u") {
			return fmt.Sprintf("its type is %s, the parameter's %s", a.Type, want)
		}
		if n := max(t.Width, 1); len(a.Values) != n {
			return fmt.Sprintf("%s has %d values, found %d", a.Type, n, len(a.Values))
		}
	}
	return ""
}

var described = map[Kind]string{Buffer: "a buffer", Scalar: "a value", Local: "local memory", Raw: "the bytes of a struct"}

// kindOf is the kind of argument that is for a parameter, "" where that is not
// known.
func kindOf(t *csource.Type) Kind {
	switch t.Class {
	case csource.Pointer, csource.Array:
		if t.Space == csource.Local {
			return Local
		}
		return Buffer
	case csource.Integer, csource.Floating:
		return Scalar
	case csource.Struct:
		return Raw
	case csource.Unknown, csource.Void:
	}
	return ""
}

// opaque types are handles of a driver.
func opaque(t *csource.Type) bool {
	if t.Class != csource.Unknown {
		return false
	}
	switch t.Name {
	case "sampler_t", "pipe", "queue_t", "event_t", "clk_event_t", "reserve_id_t":
		return true
	}
	return strings.HasPrefix(t.Name, "image") && strings.HasSuffix(t.Name, "_t")
}

// wants is what an argument for parameter i looks like.
func wants(p *csource.Variable, i int) string {
	name := p.Name
	if name == "" {
		name = "a" + strconv.Itoa(i+1)
	}
	switch kindOf(p.Type) {
	case Buffer:
		of := "TYPE"
		if p.Type.Elem != nil && nameOf(p.Type.Elem) != "" {
			of = nameOf(p.Type.Elem)
		}
		of = name + "=buf:" + of + ":COUNT"
		if e := p.Type.Elem; e != nil && e.Class == csource.Struct {
			of += fmt.Sprintf(" (structs of %d bytes)", e.Size())
		}
		return of
	case Local:
		return name + "=local:BYTES"
	case Scalar:
		return name + "=" + nameOf(p.Type) + ":VALUE"
	case Raw:
		return fmt.Sprintf("%s=raw:HEX (%d bytes)", name, p.Type.Size())
	default:
		return name + " (" + p.Type.Name + ")"
	}
}

// nameOf is the name that a type has in the notation of arguments, "" where it
// has none.
func nameOf(t *csource.Type) string {
	name := ""
	switch t.Class {
	case csource.Integer:
		name = map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}[t.Bytes]
		if t.Unsigned && name != "" {
			name = "u" + name
		}
	case csource.Floating:
		name = map[int]string{2: "half", 4: "float", 8: "double"}[t.Bytes]
	case csource.Unknown, csource.Void, csource.Pointer, csource.Array, csource.Struct:
	}
	if name != "" && t.Width > 1 {
		name += strconv.Itoa(t.Width)
	}
	return name
}
