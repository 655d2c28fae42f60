package llvm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

// Tool finds a program of LLVM: the one that is named, or name or name-NN on
// the PATH, or below /usr/lib/llvm-NN. The newest version wins among several.
func Tool(name, named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", &collectors.MissingError{Status: datasets.RunUnavailable, What: "there is no " + named, Fix: fix(name)}
		}
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	var found []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir != "" {
			matches, _ := filepath.Glob(filepath.Join(dir, name+"-[0-9]*")) // the pattern is right
			found = append(found, matches...)
		}
	}
	matches, _ := filepath.Glob("/usr/lib/llvm-*/bin/" + name)
	found = append(found, matches...)
	sort.SliceStable(found, func(i, j int) bool { return release(found[i]) > release(found[j]) })
	for _, f := range found {
		if path, err := exec.LookPath(f); err == nil {
			return path, nil
		}
	}
	return "", &collectors.MissingError{Status: datasets.RunUnavailable, What: "there is no " + name + " on the PATH or below /usr/lib/llvm-*", Fix: fix(name)}
}

func fix(name string) string {
	pkg := "llvm"
	if strings.HasPrefix(name, "clang") {
		pkg = "clang"
	}
	return "on Debian or Ubuntu: sudo apt-get install " + pkg
}

var releaseIn = regexp.MustCompile(`-(\d+)`)

func release(path string) int {
	if m := releaseIn.FindStringSubmatch(path); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

var versionIn = regexp.MustCompile(`version (\d+\.\d+[.\w]*)`)

// Version asks a program of LLVM for its version.
func Version(ctx context.Context, path string) (string, error) {
	out, _, err := Output(ctx, "", path, "--version")
	if err != nil {
		return "", err
	}
	if m := versionIn.FindStringSubmatch(string(out)); m != nil {
		return m[1], nil
	}
	return "", nil
}

// FailedError says that a program of LLVM refused its input.
type FailedError struct {
	Command []string
	How     string // its exit status
	Log     string // what it wrote to standard error
}

func (e *FailedError) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.Log), "\n")
	return filepath.Base(e.Command[0]) + ": " + e.How + ": " + first
}

// mostOutput bounds what a program of LLVM may write.
const mostOutput = 256 << 20

// Output runs a program of LLVM in a folder and returns what it writes. A
// program that fails is a *FailedError.
func Output(ctx context.Context, dir string, argv ...string) (stdout []byte, log string, err error) {
	out, errs := &limited{left: mostOutput}, &limited{left: 1 << 20}
	r, err := process.Run(ctx, process.Command{Argv: argv, Dir: dir, Stdout: out, Stderr: errs})
	if err != nil {
		return nil, "", err
	}
	if !r.OK() {
		return nil, "", &FailedError{argv, r.String(), errs.String()}
	}
	if out.left < 0 {
		return nil, "", errors.New(filepath.Base(argv[0]) + " wrote more than 256 MiB")
	}
	return out.Bytes(), errs.String(), nil
}

// limited keeps the first bytes that are written.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left >= 0 {
		l.Buffer.Write(p[:min(len(p), l.left)])
		l.left -= len(p)
	}
	return len(p), nil
}

// Language guesses a source's language by its name, as clang -x has it.
func Language(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cl":
		return "cl"
	case ".cc", ".cpp", ".cxx", ".c++", ".hpp":
		return "c++"
	case ".c", ".h":
		return "c"
	case ".ll", ".bc":
		return "ir"
	}
	return ""
}

// Flags are clang's flags for a language: for OpenCL C the portable target
// SPIR, which keeps address spaces, and the built-in functions' header.
func Flags(language, std string) []string {
	switch language {
	case "cl":
		if std == "" {
			std = "CL2.0"
		}
		return []string{"-x", "cl", "-cl-std=" + std, "-Xclang", "-finclude-default-header", "-target", "spir64"}
	case "ir", "":
		return nil
	}
	f := []string{"-x", language}
	if std != "" {
		f = append(f, "-std="+std)
	}
	return f
}

func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
