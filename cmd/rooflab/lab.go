package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/internal/lab"
)

func init() { register(labCommand) }

func labCommand() *cobra.Command {
	var noBrowser bool
	var port int
	cmd := &cobra.Command{
		Use:   "lab [NOTEBOOK_DIR] [flags] [-- JUPYTERLAB_FLAGS...]",
		Short: "Open JupyterLab with the kernel Go (rooflab), setting up what is missing",
		Long: `Starts JupyterLab on NOTEBOOK_DIR (default: the current folder), reachable from
this machine only. A jupyter-lab on the PATH is used; if there is none, one is
installed from PyPI, at pinned versions, into a virtual environment of rooflab's
own, and nothing else is touched. Flags after "--" go to JupyterLab.`,
		Args: func(cmd *cobra.Command, args []string) error {
			n := cmd.ArgsLenAtDash()
			if n < 0 {
				n = len(args)
			}
			if n > 1 {
				return fmt.Errorf("lab: expected one folder, found %q; flags for JupyterLab come after --", args[:n])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, extra := ".", args
			if n := cmd.ArgsLenAtDash(); n != 0 && len(args) > 0 {
				dir, extra = args[0], args[1:]
			}
			dir, err := filepath.Abs(dir)
			if err != nil {
				return fmt.Errorf("lab: %w", err)
			}
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return fmt.Errorf("lab: %s is no folder with notebooks", dir)
			}
			ctx, out := cmd.Context(), cmd.ErrOrStderr()
			l, why, found := lab.Find(ctx)
			if !found {
				fmt.Fprintln(out, "rooflab:", why)
				if l, err = lab.Make(ctx, out); err != nil {
					fmt.Fprintln(out, "rooflab:", err)
					fmt.Fprintf(out, withoutJupyter, os.Args[0])
					return exitCode(1)
				}
			} else {
				fmt.Fprintf(out, "rooflab: using JupyterLab %s: %s\n", l.Version, l.Bin)
			}
			// An environment of ours gets the kernel with it, another Jupyter finds it
			// in the user's data directory.
			if err := install(ctx, specPlace{user: l.Prefix == "", prefix: l.Prefix}, out); err != nil {
				return fmt.Errorf("making the kernel known to Jupyter: %w", err)
			}
			if l.Prefix != "" {
				// No language servers are in there; looking for them takes time, writes
				// into the home folder and ends the log with a long list.
				extra = append([]string{"--LanguageServerManager.autodetect=False"}, extra...)
			}
			argv := append([]string{l.Bin}, lab.Args(dir, !noBrowser && lab.HasDisplay(), port, os.Geteuid() == 0, extra)...)
			fmt.Fprintln(out, "rooflab: starting", strings.Join(argv, " "))
			// JupyterLab takes this process's place: signals and the terminal are its own.
			if err := syscall.Exec(l.Bin, argv, os.Environ()); err != nil {
				return fmt.Errorf("starting %s: %w", l.Bin, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "do not open a browser (the default without a display)")
	cmd.Flags().IntVar(&port, "port", 0, "port to listen on (default: the first free one from 8888)")
	return cmd
}

// withoutJupyter takes the path with which this program was called.
const withoutJupyter = `rooflab: these work without Jupyter:
  %[1]s repl                        Go at a prompt, values stay alive
  %[1]s run NB.ipynb --html F.html  runs a notebook and writes a page to look at
When PyPI is in reach, or jupyter-lab is on the PATH, run this command again.
`
