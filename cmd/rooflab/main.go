// Command rooflab is the one binary of rooflab: notebook kernel, terminal,
// headless runner, importer and analyst. Each subcommand lives in a file of
// its own and registers itself with the root command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/kernel/hugepages"
)

// commands collects the constructors of the subcommands; each file of this
// package adds its own in an init function.
var commands []func() *cobra.Command

// register adds a subcommand to the root command.
func register(c func() *cobra.Command) { commands = append(commands, c) }

// exitCode is an error that carries the process's exit status and prints
// nothing of its own: whoever returns it has already told the user.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() {
	sandbox.ServeIfAsked() // started by itself, as the first process of a sandbox
	if len(os.Args) > 1 && (os.Args[1] == "train" || os.Args[1] == "eval") {
		hugepages.Restart() // for training in this process
	}
	root := &cobra.Command{
		Use:           "rooflab",
		Short:         "A live Go notebook and workbench for the performance of code",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, c := range commands {
		root.AddCommand(c())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := root.ExecuteContext(ctx); err != nil {
		var code exitCode
		if errors.As(err, &code) {
			os.Exit(int(code))
		}
		fmt.Fprintln(os.Stderr, "rooflab:", err)
		os.Exit(1)
	}
}
