package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/kernel/jupyter"
	"github.com/rooflab/rooflab/kernel/session"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

func init() { register(kernelCommand) }

func kernelCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "kernel --connection-file FILE",
		Short: "Serve a live Go session to Jupyter (what the kernelspec runs)",
		Long: `Serves a live Go session to Jupyter until it asks for the end, SIGTERM comes or
the process that started this one is gone.

Cells are remembered across sessions in the file that ROOFLAB_HISTORY names, or
in history.jsonl in rooflab's cache directory; ROOFLAB_HISTORY=off keeps them in
memory only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serveKernel(cmd.Context(), file)
		},
	}
	c.Flags().StringVar(&file, "connection-file", "", "connection file that Jupyter wrote")
	if err := c.MarkFlagRequired("connection-file"); err != nil {
		panic(err) // the flag is defined one line above
	}
	return c
}

// serveKernel runs the front until Jupyter asks it to end, SIGTERM comes or
// the process that started it is gone.
func serveKernel(ctx context.Context, file string) error {
	conn, err := jupyter.ReadConnection(file)
	if err != nil {
		return err
	}
	history, err := historyFile()
	if err != nil {
		fmt.Fprintf(os.Stderr, "rooflab: %v; the history is kept in memory only\n", err)
	}
	server, err := jupyter.Listen(jupyter.Config{
		Connection: conn,
		Start: func() (session.Session, error) {
			return session.Start(session.Options{Interactive: true, Output: func(line string) {
				fmt.Fprintln(os.Stderr, line)
			}})
		},
		History: history,
		Version: version(),
		Log:     os.Stderr,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	// A front end that closes its end of our output must not kill the session.
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		for {
			select {
			case <-interrupts:
				server.Interrupt()
			case <-ctx.Done():
				return
			}
		}
	}()
	if pid, err := strconv.Atoi(os.Getenv("JPY_PARENT_PID")); err == nil && pid > 1 {
		go func() {
			if jupyter.WatchParent(ctx, pid) {
				cancel()
			}
		}()
	}
	return server.Run(ctx)
}

// historyFile is where cells are remembered across sessions; empty is nowhere.
func historyFile() (string, error) {
	switch file := os.Getenv("ROOFLAB_HISTORY"); file {
	case "":
	case "off":
		return "", nil
	default:
		return file, nil
	}
	cache, err := toolchain.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "history.jsonl"), nil
}

// version is the module version this binary was built from, "devel" for a
// working tree.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
