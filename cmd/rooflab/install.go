package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/internal/stockgonb"
	"github.com/rooflab/rooflab/kernel/jupyter"
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
	c.Flags().BoolVar(&place.gonb, "gonb", false, "also build stock GoNB "+stockgonb.Version+" and offer it beside ours")
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
	gonb, err := stockgonb.Build(ctx, out)
	if err != nil {
		return err
	}
	if dir, err = jupyter.GoNBSpec(gonb.Binary, gonb.Tools).Write(dataDir); err != nil {
		return err
	}
	fmt.Fprintf(out, "installed %s: the kernel Go (gonb) runs %s\n", dir, gonb.Binary)
	if _, err := exec.LookPath("gopls"); err != nil {
		fmt.Fprintln(out, "note: completion and inspection in Go (gonb) need gopls on the PATH")
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
