package kernels

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// goModule makes the go.mod and go.sum in dir that GoNB has after the user
// added the modules of the imports: the versions that our own module (in root)
// pins, so that both kernels run the same code and nothing is fetched.
func goModule(ctx context.Context, root, dir string, imports []string) error {
	if len(imports) == 0 {
		return nil
	}
	list, err := goCommand(ctx, root, append([]string{"list", "-mod=readonly", "-deps", "-f",
		"{{with .Module}}{{.Path}} {{.Version}}{{end}}"}, imports...)...)
	if err != nil {
		return err
	}
	var require []string
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" {
			require = append(require, "\t"+line+"\n")
		}
	}
	slices.Sort(require)
	mod := "module cells\n\ngo 1.26\n\nrequire (\n" + strings.Join(slices.Compact(require), "") + ")\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return fmt.Errorf("making GoNB's module: %w", err)
	}
	main := "package main\n\nimport (\n"
	for _, i := range imports {
		main += fmt.Sprintf("\t_ %q\n", i)
	}
	main += ")\n\nfunc main() {}\n"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making GoNB's module: %w", err)
	}
	for name, text := range map[string][]byte{"go.mod": []byte(mod), "go.sum": sum, "main.go": []byte(main)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("making GoNB's module: %w", err)
		}
	}
	// As GoNB does for each cell; now it has nothing left to change.
	if _, err := goCommand(ctx, dir, "get"); err != nil {
		return fmt.Errorf("making GoNB's module: %w", err)
	}
	return os.Remove(filepath.Join(dir, "main.go"))
}

// useModule is the cell that makes GoNB use that module. A command after !* is
// run in the folder in which GoNB builds cells.
func useModule(dir string) cell {
	return cell{code: fmt.Sprintf("!*cp '%[1]s/go.mod' '%[1]s/go.sum' . && echo module ready", dir), prints: "module ready"}
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), dir, err, errs.Bytes())
	}
	return out.String(), nil
}
