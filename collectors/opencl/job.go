package opencl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// jobFile is a job file as written.
type jobFile struct {
	Warmup   *int          `json:"warmup"`
	Repeats  *int          `json:"repeats"`
	Programs []programSpec `json:"programs"`
}

type programSpec struct {
	Source   string       `json:"source"`
	Options  string       `json:"options"`
	Launches []launchSpec `json:"launches"`
}

type launchSpec struct {
	Kernel  string             `json:"kernel"`
	Options string             `json:"options"`
	Sweep   map[string][]int64 `json:"sweep"`
	When    string             `json:"when"`
	Global  string             `json:"global"`
	Local   string             `json:"local"`
	Args    []string           `json:"args"`
	Work    map[string]string  `json:"work"`
	Expect  map[string]string  `json:"expect"`
	Warmup  *int               `json:"warmup"`
	Repeats *int               `json:"repeats"`
}

// program is a source with one set of build options and what to launch of it.
type program struct {
	Path     string // as the user named it
	Source   string // text
	Options  string
	Launches []launch
}

// launch is one configuration, all variables replaced.
type launch struct {
	Kernel          string
	Global, Local   []uint64 // Local is empty where the driver chooses
	Args            []string
	Work            map[string]float64
	Expect          map[string]string
	Params          map[string]int64
	Warmup, Repeats int
}

// maxLaunches bounds what a sweep can grow to.
const maxLaunches = 100_000

// readJob reads a job file and the sources that it names. warmup and repeats
// go before what the file says, where they are not nil.
func readJob(path string, warmup, repeats *int) ([]program, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the job file: %w", err)
	}
	var f jobFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		line := 1 + bytes.Count(data[:min(d.InputOffset(), int64(len(data)))], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: %w: see `go doc github.com/rooflab/rooflab/collectors/opencl` for what a job file holds", path, line, err)
	}
	var ps []program
	for i, p := range f.Programs {
		file := p.Source
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: programs[%d]: %w", path, i, err)
		}
		for j, l := range p.Launches {
			l.Warmup, l.Repeats = first(warmup, l.Warmup, f.Warmup, &fewWarmup), first(repeats, l.Repeats, f.Repeats, &fewRepeats)
			if ps, err = l.expand(ps, program{Path: p.Source, Source: string(source), Options: p.Options}, filepath.Dir(path)); err != nil {
				return nil, fmt.Errorf("%s: programs[%d].launches[%d]: %w", path, i, j, err)
			}
		}
	}
	if len(ps) == 0 {
		return nil, fmt.Errorf("%s: it holds no launch", path)
	}
	return ps, nil
}

func first(ns ...*int) *int {
	for _, n := range ns {
		if n != nil {
			return n
		}
	}
	return nil
}

// expand adds a launch's configurations to those of programs with the same
// source and options, which are made where they are missing.
func (l launchSpec) expand(ps []program, base program, dir string) ([]program, error) {
	names := slices.Sorted(maps.Keys(l.Sweep))
	total := 1
	for _, n := range names {
		if len(l.Sweep[n]) == 0 {
			return ps, fmt.Errorf("sweep: %s has no values", n)
		}
		if total *= len(l.Sweep[n]); total > maxLaunches {
			return ps, fmt.Errorf("sweep: more than %d combinations", maxLaunches)
		}
	}
	for i := range total {
		vars := map[string]int64{}
		rest := i
		for _, n := range slices.Backward(names) { // the last name runs fastest
			vars[n] = l.Sweep[n][rest%len(l.Sweep[n])]
			rest /= len(l.Sweep[n])
		}
		if l.When != "" {
			yes, err := evaluate(l.When, vars)
			if err != nil {
				return ps, fmt.Errorf("when: %w", err)
			}
			if yes == 0 {
				continue
			}
		}
		c, options, err := l.configure(vars, dir)
		if err != nil {
			return ps, err
		}
		options = strings.TrimSpace(base.Options + " " + options)
		at := slices.IndexFunc(ps, func(p program) bool { return p.Path == base.Path && p.Options == options })
		if at < 0 {
			at = len(ps)
			ps = append(ps, program{Path: base.Path, Source: base.Source, Options: options})
		}
		ps[at].Launches = append(ps[at].Launches, c)
	}
	return ps, nil
}

// configure replaces the variables of a launch.
func (l launchSpec) configure(vars map[string]int64, dir string) (launch, string, error) {
	c := launch{Kernel: l.Kernel, Params: vars, Work: map[string]float64{}, Expect: map[string]string{}, Warmup: *l.Warmup, Repeats: *l.Repeats}
	if l.Kernel == "" {
		return c, "", errors.New("it names no kernel")
	}
	if c.Repeats < 1 || c.Warmup < 0 {
		return c, "", fmt.Errorf("%d repeats after %d to warm up: at least 1 and 0 are needed", c.Repeats, c.Warmup)
	}
	var err error
	if c.Global, err = sizes(l.Global, vars); err != nil {
		return c, "", fmt.Errorf("global: %w", err)
	}
	if len(c.Global) == 0 {
		return c, "", errors.New("global: it is missing: how many work-items are there?")
	}
	if c.Local, err = sizes(l.Local, vars); err != nil {
		return c, "", fmt.Errorf("local: %w", err)
	}
	if len(c.Local) > 0 && len(c.Local) != len(c.Global) {
		return c, "", fmt.Errorf("local: %q has not as many dimensions as the global size, %q", l.Local, l.Global)
	}
	names := map[string]bool{}
	for i, a := range l.Args {
		text, err := substitute(a, vars)
		if err != nil {
			return c, "", fmt.Errorf("args[%d]: %w", i, err)
		}
		arg, err := parseArgument(text)
		if err != nil {
			return c, "", fmt.Errorf("args[%d]: %w", i, err)
		}
		if arg.Init == "file" && !filepath.IsAbs(arg.Params[0]) && dir != "" {
			text = strings.Replace(text, "file("+arg.Params[0]+")", "file("+filepath.Join(dir, arg.Params[0])+")", 1)
		}
		if arg.Access == "w" || arg.Access == "rw" {
			names[arg.Name] = true
		}
		c.Args = append(c.Args, text)
	}
	for name, expr := range l.Work {
		v, err := evaluate(expr, vars)
		if err != nil {
			return c, "", fmt.Errorf("work: %s: %w", name, err)
		}
		c.Work[name] = float64(v)
	}
	for name, e := range l.Expect {
		if c.Expect[name], err = substitute(e, vars); err == nil {
			_, err = parseExpectation(c.Expect[name])
		}
		if err == nil && !names[name] {
			err = errors.New("no output has this name")
		}
		if err != nil {
			return c, "", fmt.Errorf("expect: %s: %w", name, err)
		}
	}
	options, err := substitute(l.Options, vars)
	if err != nil {
		return c, "", fmt.Errorf("options: %w", err)
	}
	return c, options, nil
}

func sizes(s string, vars map[string]int64) ([]uint64, error) {
	s, err := substitute(s, vars)
	if err != nil || s == "" {
		return nil, err
	}
	var ns []uint64
	for _, f := range strings.Split(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(f), 10, 48)
		if err != nil || n == 0 || len(ns) == 3 {
			return nil, fmt.Errorf("%q is no size, which is 1 to 3 numbers above 0 with commas between them", s)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// substitute replaces ${expression} by its value.
func substitute(s string, vars map[string]int64) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		expr, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("%q: ${ without }", s)
		}
		v, err := evaluate(expr, vars)
		if err != nil {
			return "", err
		}
		b.WriteString(strconv.FormatInt(v, 10))
		s = after
	}
}

// evaluate computes integer arithmetic; a condition is 1 or 0. Its grammar is
// that of Go's expressions, which has precedences and positions.
func evaluate(expr string, vars map[string]int64) (int64, error) {
	if len(expr) > 1000 {
		return 0, errors.New("an expression of more than 1000 characters")
	}
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", expr, err)
	}
	v, err := value(e, vars)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", expr, err)
	}
	return v, nil
}

func value(e ast.Expr, vars map[string]int64) (int64, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X, vars)
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(e.Value, 0, 64); err == nil {
			return v, nil
		}
		return 0, fmt.Errorf("%s is no whole number", e.Value)
	case *ast.Ident:
		if v, ok := vars[e.Name]; ok {
			return v, nil
		}
		return 0, fmt.Errorf("no variable %s in the sweep", e.Name)
	case *ast.UnaryExpr:
		v, err := value(e.X, vars)
		switch e.Op {
		case token.SUB:
			return -v, err
		case token.NOT:
			return truth(v == 0), err
		}
	case *ast.BinaryExpr:
		x, err := value(e.X, vars)
		if err != nil {
			return 0, err
		}
		y, err := value(e.Y, vars)
		if err != nil {
			return 0, err
		}
		return binaryValue(e.Op, x, y)
	}
	return 0, errors.New("only whole numbers, variables, + - * / % << >>, comparisons, && and || are known here")
}

func binaryValue(op token.Token, x, y int64) (int64, error) {
	switch op {
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.QUO, token.REM:
		if y == 0 {
			return 0, errors.New("division by zero")
		}
		if op == token.REM {
			return x % y, nil
		}
		return x / y, nil
	case token.SHL, token.SHR:
		if y < 0 || y > 62 {
			return 0, fmt.Errorf("a shift by %d", y)
		}
		if op == token.SHL {
			return x << y, nil
		}
		return x >> y, nil
	case token.EQL:
		return truth(x == y), nil
	case token.NEQ:
		return truth(x != y), nil
	case token.LSS:
		return truth(x < y), nil
	case token.LEQ:
		return truth(x <= y), nil
	case token.GTR:
		return truth(x > y), nil
	case token.GEQ:
		return truth(x >= y), nil
	case token.LAND:
		return truth(x != 0 && y != 0), nil
	case token.LOR:
		return truth(x != 0 || y != 0), nil
	}
	return 0, fmt.Errorf("no operator %s here", op)
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
