package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/kernel/jupyter"
)

// gonbModule and gonbVersion are the stock kernel that --gonb offers, the
// version that go.mod pins.
const (
	gonbModule  = "github.com/janpfeifer/gonb"
	gonbVersion = "v0.11.3"
)

func init() {
	register(installCommand)
	register(uninstallCommand)
}

// specPlace is where a kernelspec goes, from the flags of both commands.
type specPlace struct {
	user   bool
	prefix string
	gonb   bool
}

func (p *specPlace) flags(c *cobra.Command) {
	c.Flags().BoolVar(&p.user, "user", false, "in the user's Jupyter data directory (the default)")
	c.Flags().StringVar(&p.prefix, "prefix", "", "under `DIR`/share/jupyter, a virtual environment for example")
	c.MarkFlagsMutuallyExclusive("user", "prefix")
}

func (p *specPlace) dataDir() (string, error) {
	if p.prefix == "" {
		return jupyter.UserDataDir()
	}
	prefix, err := filepath.Abs(p.prefix)
	if err != nil {
		return "", fmt.Errorf("--prefix %s: %w", p.prefix, err)
	}
	return jupyter.PrefixDataDir(prefix), nil
}

func installCommand() *cobra.Command {
	var place specPlace
	c := &cobra.Command{
		Use:   "install",
		Short: "Make Jupyter know the kernel Go (rooflab)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return install(cmd.Context(), place, cmd.OutOrStdout())
		},
	}
	place.flags(c)
	c.Flags().BoolVar(&place.gonb, "gonb", false, "also build stock GoNB "+gonbVersion+" and offer it beside ours")
	return c
}

func install(ctx context.Context, place specPlace, out io.Writer) error {
	dataDir, err := place.dataDir()
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the path of this program: %w", err)
	}
	dir, err := jupyter.RooflabSpec(binary).Write(dataDir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installed %s: the kernel Go (rooflab) runs %s\n", dir, binary)
	if !place.gonb {
		return nil
	}
	gonb, err := buildGoNB(ctx, out)
	if err != nil {
		return err
	}
	if dir, err = jupyter.GoNBSpec(gonb).Write(dataDir); err != nil {
		return err
	}
	fmt.Fprintf(out, "installed %s: the kernel Go (gonb) runs %s\n", dir, gonb)
	for _, tool := range []string{"goimports", "gopls"} {
		if _, err := exec.LookPath(tool); err != nil {
			fmt.Fprintf(out, "note: GoNB's automatic imports and completion need %s on the PATH\n", tool)
		}
	}
	return nil
}

func uninstallCommand() *cobra.Command {
	var place specPlace
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the kernel Go (rooflab) away from Jupyter",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return uninstall(place, cmd.OutOrStdout())
		},
	}
	place.flags(c)
	c.Flags().BoolVar(&place.gonb, "gonb", false, "also the kernel Go (gonb)")
	return c
}

func uninstall(place specPlace, out io.Writer) error {
	dataDir, err := place.dataDir()
	if err != nil {
		return err
	}
	names := []string{"rooflab"}
	if place.gonb {
		names = append(names, "gonb")
	}
	for _, name := range names {
		dir, found, err := jupyter.RemoveSpec(dataDir, name)
		if err != nil {
			return err
		}
		if found {
			fmt.Fprintf(out, "removed %s\n", dir)
		} else {
			fmt.Fprintf(out, "not installed: %s\n", dir)
		}
	}
	return nil
}

// buildGoNB builds stock GoNB into the user's cache directory, unless it is
// there, and returns the binary.
func buildGoNB(ctx context.Context, out io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("building GoNB: %w", err)
	}
	dir := filepath.Join(cache, "rooflab", "gonb", gonbVersion)
	binary := filepath.Join(dir, "gonb")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("building GoNB: %w", err)
	}
	module, flags, err := gonbBuildModule(dir)
	if err != nil {
		return "", fmt.Errorf("building GoNB: %w", err)
	}
	fmt.Fprintf(out, "building %s %s ...\n", gonbModule, gonbVersion)
	temp := binary + ".new"
	args := append([]string{"build"}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, "-o", temp, gonbModule)...)
	build.Dir = module
	// GoNB is built as its users build it: no experiments, no workspace.
	build.Env = append(os.Environ(), "GOEXPERIMENT=", "GOWORK=off")
	var log bytes.Buffer
	build.Stdout, build.Stderr = &log, &log
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building GoNB in %s: go %s: %w\n%s", module, strings.Join(build.Args[1:], " "), err, log.Bytes())
	}
	return binary, os.Rename(temp, binary)
}

// gonbBuildModule is a folder whose module requires the pinned GoNB: our
// own source tree where it is at hand, else one made for the purpose.
func gonbBuildModule(dir string) (module string, flags []string, err error) {
	root, err := sourceTree()
	if err == nil {
		return root, []string{"-mod=readonly"}, nil
	}
	goMod := fmt.Sprintf("module gonbbuild\n\ngo 1.26\n\nrequire %s %s\n", gonbModule, gonbVersion)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o644); err != nil {
		return "", nil, err
	}
	return dir, []string{"-mod=mod"}, nil
}

// sourceTree looks for rooflab's own go.mod above this program and above the
// current directory.
func sourceTree() (string, error) {
	var starts []string
	if binary, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(binary); err == nil {
			binary = real
		}
		starts = append(starts, filepath.Dir(binary))
	}
	if cwd, err := os.Getwd(); err == nil {
		starts = append(starts, cwd)
	}
	for _, dir := range starts {
		for {
			data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && bytes.HasPrefix(data, []byte("module github.com/rooflab/rooflab\n")) {
				return dir, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", errors.New("the source tree of rooflab was not found")
}
