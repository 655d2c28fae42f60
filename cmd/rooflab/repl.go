package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/kernel/repl"
	"github.com/rooflab/rooflab/kernel/session"
)

func init() { register(replCommand) }

func replCommand() *cobra.Command {
	var stopOnError bool
	var pictures string
	cmd := &cobra.Command{
		Use:   "repl",
		Short: "Go at a prompt, or cells from standard input, with values that stay alive",
		Long: `At a terminal: a prompt with history, completion and multi-line input.

When standard input is no terminal it is run as cells, separated by lines "%%%".
What cells print and the text of trailing expressions goes to standard output,
errors go to standard error; later cells still run unless --stop-on-error is
given, and the exit status is 1 if any cell failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			interactive := isTerminal(os.Stdin) && isTerminal(os.Stdout)
			s, err := session.Start(session.Options{Interactive: interactive, Output: notice(cmd.ErrOrStderr())})
			if err != nil {
				return fmt.Errorf("starting the session: %w", err)
			}
			defer s.Close()
			defer interruptOnSignal(s)()
			p := &repl.Printer{Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Keep: keepPictures(pictures)}
			var failed int
			if interactive {
				failed, err = runTerminal(s, p, stopOnError)
			} else {
				failed, err = repl.Batch(cmd.Context(), s, cmd.InOrStdin(), p, stopOnError)
			}
			if errors.Is(err, repl.ErrStopped) {
				fmt.Fprintln(cmd.ErrOrStderr(), "rooflab repl:", err)
				return exitCode(1)
			}
			if err != nil {
				return err
			}
			if failed > 0 && !interactive {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&stopOnError, "stop-on-error", false, "leave at the first cell that fails")
	cmd.Flags().StringVar(&pictures, "pictures", "", "write each displayed picture into this `DIR`")
	return cmd
}

func runTerminal(s session.Session, p *repl.Printer, stopOnError bool) (int, error) {
	history, err := repl.HistoryFile()
	if err != nil {
		return 0, err
	}
	ed, err := repl.OpenLiner(history)
	if err != nil {
		return 0, err
	}
	p.Results = true
	fmt.Fprintln(p.Out, `rooflab: Go at a prompt. ":help" tells more, Ctrl-D leaves.`)
	failed, err := repl.Interactive(s, ed, p, stopOnError)
	return failed, errors.Join(err, ed.Close())
}

// keepPictures writes pictures into dir as they come; without dir it says how.
func keepPictures(dir string) func(int, repl.Picture) string {
	if dir == "" {
		return func(int, repl.Picture) string { return "--pictures DIR writes it" }
	}
	return func(n int, pic repl.Picture) string {
		path := filepath.Join(dir, fmt.Sprintf("picture-%d%s", n, pic.Extension()))
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(path, pic.Data, 0o644)
		}
		if err != nil {
			return "not written: " + err.Error()
		}
		return "written to " + path
	}
}

// interruptOnSignal sends Ctrl-C to the running cell instead of ending the
// process; the returned function undoes that.
func interruptOnSignal(s session.Session) (undo func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				s.Interrupt()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}

// notice writes the session's remarks about slow set-up steps.
func notice(w io.Writer) func(string) {
	return func(line string) { fmt.Fprintln(w, "rooflab:", line) }
}

func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	if f.Fd() == os.Stdin.Fd() { // /dev/null is a character device, but no terminal
		_, err = liner.TerminalMode()
		return err == nil
	}
	return true
}
