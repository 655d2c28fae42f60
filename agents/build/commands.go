package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Compilers are the programs whose calls Commands records, by the names by which
// files of builds call them.
func Compilers() []string {
	return []string{"cc", "gcc", "g++", "c++", "clang", "clang++", "nvcc", "hipcc", "icx", "icpx", "nvc", "nvc++"}
}

// Ran is a command that a build ran.
type Ran struct {
	Dir  string   `json:"dir,omitempty"` // relative to the sources, "" is their folder
	Argv []string `json:"argv"`
}

const (
	recorder     = ".rooflab-recorder" // a folder beside the sources, in the sandbox
	mostRecorded = 4 << 20             // bytes
)

// note is a program by the name of a compiler: it writes down how it was called,
// each call in a file of its own since make runs several at a time, and calls the
// compiler.
const note = `#!/bin/sh
here=${0%/*}
name=${0##*/}
printf '%s\0' "$$" "$(($# + 1))" "$PWD" "$name" "$@" > "$here/../ran/$$"
IFS=:
for dir in $PATH; do
	if [ "$dir" != "$here" ] && [ -x "$dir/$name" ]; then
		exec "$dir/$name" "$@"
	fi
done
echo "$name: not found" >&2
exit 127
`

// Commands are the calls of compilers by which a recipe builds, in their order:
// what make, cmake or a script runs in the end. It builds once more, and what is
// built is gone. Compilers that are called by a path are found where the build
// prints its commands. What it says comes from what was built, so that it is of use
// for advice and proves nothing.
func Commands(ctx context.Context, box *sandbox.Box, r Recipe) ([]Ran, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rooflab-record-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	changed, notes, kept := filepath.Join(dir, "changed"), filepath.Join(dir, "notes"), filepath.Join(dir, "kept")
	for _, d := range []string{changed, filepath.Join(notes, "bin"), filepath.Join(notes, "ran")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := r.write(changed); err != nil {
		return nil, fmt.Errorf("writing the candidate's files: %w", err)
	}
	for _, name := range Compilers() {
		if err := os.WriteFile(filepath.Join(notes, "bin", name), []byte(note), 0o755); err != nil {
			return nil, err
		}
	}
	c := r.command(changed)
	script := `pwd -P > ` + recorder + `/root
PATH="$PWD/` + recorder + `/bin:$PATH" "$@" 2>&1
cat ` + recorder + `/ran/* > ` + recorder + `/all 2>/dev/null || true`
	c.Argv = append([]string{"sh", "-c", script, "sh"}, r.Command...)
	c.Watch, c.Keep, c.KeepOnly = nil, kept, []string{recorder + "/all", recorder + "/root"}
	c.Put = append(c.Put, sandbox.Copy{From: notes, To: recorder})
	o, err := box.Run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("recording the commands of a build: %w", err)
	}
	all, err := limited(filepath.Join(kept, recorder, "all"))
	if err != nil {
		return nil, fmt.Errorf("recording the commands of a build, which ended with %v: %w", o, err)
	}
	root, err := limited(filepath.Join(kept, recorder, "root"))
	if err != nil {
		return nil, fmt.Errorf("recording the commands of a build, which ended with %v: %w", o, err)
	}
	ran := recorded(all, strings.TrimSpace(string(root)))
	if len(ran) == 0 {
		ran = printed(string(o.Stdout))
	}
	return ran, nil
}

// limited reads as much of a file as recorded commands may have.
func limited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("they are not there: the build has removed them")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostRecorded))
}

// recorded reads what the programs noted: for each the number of its process and
// of its words, the folder, and the words, each up to a NUL. What is cut or not as
// it should be ends it.
func recorded(data []byte, root string) []Ran {
	type one struct {
		process int
		Ran
	}
	var all []one
	fields := bytes.Split(data, []byte{0})
	for len(fields) > 3 {
		process, err := strconv.Atoi(string(fields[0]))
		n, err2 := strconv.Atoi(string(fields[1]))
		if err != nil || err2 != nil || n < 1 || n > len(fields)-4 {
			break // the last field is what is behind the last NUL
		}
		o := one{process: process}
		if dir, err := filepath.Rel(root, string(fields[2])); err == nil && dir != "." {
			o.Dir = filepath.ToSlash(dir)
		}
		for _, w := range fields[3 : 3+n] {
			o.Argv = append(o.Argv, string(w))
		}
		all = append(all, o)
		fields = fields[3+n:]
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.process, b.process) })
	var out []Ran
	for _, o := range all {
		out = append(out, o.Ran)
	}
	return out
}

// printed are the lines of a log that call a compiler. Quotes are not undone.
func printed(log string) []Ran {
	var out []Ran
	for line := range strings.Lines(log) {
		if words := strings.Fields(line); len(words) > 1 && slices.Contains(Compilers(), path.Base(words[0])) {
			out = append(out, Ran{Argv: words})
		}
	}
	return out
}
