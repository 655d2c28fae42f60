package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Compilation is how a source is compiled, as far as the commands of a build say.
type Compilation struct {
	File    string
	Command []string // the last that names it
	Level   string   // the last word that begins with -O, "" where there is none
	// Hinders are words that keep the compiler from making vectors.
	Hinders []string
	Native  bool // it may use what the oldest processor of its family has not
	OpenMP  bool // pragmas of OpenMP count
	Pragmas bool // the source has some
}

// compiler is the name of a program that compiles, with its target and version.
var compiler = regexp.MustCompile(`^([a-z0-9_]+-)*(cc|gcc|g\+\+|c\+\+|clang|clang\+\+|icx|icpx|nvc|nvc\+\+|hipcc|mpicc|mpicxx)(-[0-9.]+)?$`)

// hinders are words that keep GCC and Clang from making vectors.
var hinders = set("-fno-tree-vectorize -fno-tree-loop-vectorize -fno-tree-slp-vectorize -fno-vectorize -fno-slp-vectorize")

// compilers are the commands of a build that compile or link, without what calls
// them (ccache, env).
func compilers(build [][]string) [][]string {
	var out [][]string
	for _, command := range build {
		for i, w := range command {
			if compiler.MatchString(path.Base(w)) {
				out = append(out, command[i:])
				break
			}
			if i > 2 {
				break
			}
		}
	}
	return out
}

// Compiled says how the sources of a case are compiled that may be changed. Those
// that no command names, because a script or make does it out of sight, are left
// out.
func Compiled(c Case) []Compilation {
	commands := compilers(c.Build)
	var out []Compilation
	for _, s := range c.Sources {
		if len(s.Editable) == 0 || BuildFile(s.Path) {
			continue
		}
		one := Compilation{File: s.Path, Pragmas: pragma.MatchString(s.Text)}
		for _, command := range commands {
			if slices.ContainsFunc(command[1:], func(w string) bool { return sameFile(w, s.Path) }) {
				one.read(command)
			}
		}
		if one.Command != nil {
			out = append(out, one)
		}
	}
	return out
}

func (c *Compilation) read(command []string) {
	c.Command, c.Level, c.Hinders, c.Native, c.OpenMP = command, "", nil, false, false
	for _, w := range command[1:] {
		switch {
		case strings.HasPrefix(w, "-O"):
			c.Level = w
		case hinders[w]:
			c.Hinders = append(c.Hinders, w)
		case strings.HasPrefix(w, "-march=") || strings.HasPrefix(w, "-mcpu=") || strings.HasPrefix(w, "-mavx"):
			c.Native = true
		case w == "-fopenmp" || w == "-qopenmp" || strings.HasPrefix(w, "-fopenmp="):
			c.OpenMP = true
		}
	}
}

// Optimised is the level as a number, 0 to 3: -Og is 1, -Os and -Oz are 2.
func (c Compilation) Optimised() int {
	switch c.Level {
	case "", "-O0":
		return 0
	case "-O", "-O1", "-Og":
		return 1
	case "-O2", "-Os", "-Oz":
		return 2
	}
	return 3
}

// Missing is what the commands leave undone, in words: "" where they do what they
// can but for the processor that they compile for.
func (c Compilation) Missing() string {
	var out []string
	switch {
	case c.Level == "":
		out = append(out, "no -O, so that nothing is optimised")
	case c.Optimised() < 2:
		out = append(out, c.Level+", which leaves out most optimisations")
	}
	if len(c.Hinders) > 0 {
		out = append(out, strings.Join(c.Hinders, " ")+", so that loops are not vectorised")
	}
	if c.Pragmas && !c.OpenMP {
		out = append(out, "no -fopenmp, so that the pragmas of OpenMP in it are not read")
	}
	if len(out) > 0 && !c.Native {
		out = append(out, "no -march, so that vectors are those of the oldest processor of its family")
	}
	return strings.Join(out, "; ")
}

// pragma is one of OpenMP.
var pragma = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*pragma[ \t]+omp[ \t]`)

var buildFile = regexp.MustCompile(`(?i)^(gnu)?makefile(\.[a-z]+)?$|\.(mk|mak|make|ninja|cmake)$|^cmakelists\.txt$|^(build|make|compile)\.sh$|^meson\.build$`)

// BuildFile reports whether a file, by its name, says how a program is built: its
// flags are to be seen there, and no functions.
func BuildFile(name string) bool { return buildFile.MatchString(path.Base(name)) }

// flagged are the commands that compile the function's file, or all where none
// names it, as for a header.
func (f *finder) flagged() [][]string {
	all := compilers(f.c.Build)
	var out [][]string
	for _, command := range all {
		if slices.ContainsFunc(command[1:], func(w string) bool { return sameFile(w, f.path) }) {
			out = append(out, command)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// flag reports whether a command that compiles the function has one of some flags.
func (f *finder) flag(flags ...string) bool {
	commands := f.flagged()
	if len(commands) == 0 {
		commands = f.c.Build // by a compiler that is not known
	}
	return slices.ContainsFunc(commands, func(command []string) bool {
		return slices.ContainsFunc(command, func(w string) bool { return slices.Contains(flags, w) })
	})
}

// compilation is how the function is compiled, and by which compiler; false where
// no command says.
func (f *finder) compilation() (c Compilation, known bool) {
	commands := f.flagged()
	for _, command := range commands {
		c.read(command)
	}
	return c, len(commands) > 0
}
