package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/kernel/notebook"
	"github.com/rooflab/rooflab/kernel/repl"
	"github.com/rooflab/rooflab/kernel/session"
)

func init() {
	register(runCommand)
	register(verifyCommand)
}

func runCommand() *cobra.Command {
	var out, html string
	var inplace bool
	var params []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "run NB.ipynb",
		Short: "Run a notebook without a front end; exit status 1 if a cell fails",
		Long: `Runs the code cells of a notebook in order, in the notebook's folder.

The notebook with its outputs goes to the file given with -o ("-" for standard
output), or over the input with --inplace; --html writes a page that needs no
other file. With none of these the input is left alone and what the cells print
and display goes to standard output as text.

A cell that fails (compile error, panic, failing !command) ends the run with
exit status 1; the outputs so far, the error included, are written all the same.
Cells tagged "raises-exception" may fail; cells tagged "skip-execution" do not run.

-p name=value sets a parameter: it is assigned after the cell tagged
"parameters", or declared at the top when there is no such cell.

The notebook that is written remembers the checksums of the files that strings
in its cells name, so that verify can tell of those that changed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if inplace {
				if out != "" {
					return errors.New("run: give either -o or --inplace, not both")
				}
				out = args[0]
			}
			nb, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			var list []notebook.Param
			for _, s := range params {
				p, err := notebook.ParseParam(s)
				if err != nil {
					return err
				}
				list = append(list, p)
			}
			if err := notebook.Inject(nb, list); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			// A run may take hours: where its results cannot go is better known now.
			for _, path := range []string{out, html} {
				if err := writable(path); err != nil {
					return err
				}
			}
			dir := filepath.Dir(args[0])
			var inputs []notebook.Input
			if out != "" {
				inputs = notebook.Inputs(nb, dir)
			}
			opts := notebook.RunOptions{CellTimeout: timeout}
			if out == "" && html == "" {
				p := &repl.Printer{Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(),
					Keep: func(int, repl.Picture) string { return "-o or --html keeps it" }}
				opts.Event = p.Event
				opts.Finished = func(notebook.Progress) { p.EndCell() }
			}
			sum, err := runNotebook(cmd.Context(), cmd.ErrOrStderr(), args[0], nb, opts)
			if err != nil {
				return err
			}
			if out != "" {
				notebook.RecordInputs(nb, dir, inputs)
			}
			if err := writeResults(cmd.OutOrStdout(), nb, args[0], out, html); err != nil {
				return err
			}
			if sum.Failed != nil {
				return exitCode(1)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "write the notebook with its outputs to `OUT.ipynb`")
	f.BoolVar(&inplace, "inplace", false, "write the outputs into the input file")
	f.StringVar(&html, "html", "", "write a self-contained page to `FILE`")
	f.StringArrayVarP(&params, "param", "p", nil, "set a parameter, `name=value`; may be repeated")
	f.DurationVar(&timeout, "cell-timeout", 0, "interrupt a cell that runs longer (for example 90s); 0 is no limit")
	return cmd
}

func verifyCommand() *cobra.Command {
	tol := notebook.Tolerance{Relative: 1e-6, Absolute: 1e-9}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "verify NB.ipynb",
		Short: "Run a notebook again and compare its outputs; exit status 1 on a difference",
		Long: `Runs the notebook in a fresh session and compares each cell's outputs with the
stored ones. Numbers in text may differ by atol + rtol * the larger magnitude;
pictures are compared by their pixels. Cells tagged "nbval-ignore-output" are
run but not compared. Files that the cells name and that have changed since the
stored run are told (rooflab run notes their checksums); they are no difference
by themselves. The notebook is not changed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			stored, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			if !everRun(stored) {
				return fmt.Errorf("%s holds no outputs to compare with: `rooflab run --inplace` puts them there", args[0])
			}
			fresh := stored.Clone()
			changed := notebook.ChangedInputs(stored, filepath.Dir(args[0]))
			sum, err := runNotebook(cmd.Context(), cmd.ErrOrStderr(), args[0], fresh, notebook.RunOptions{CellTimeout: timeout})
			if err != nil {
				return err
			}
			diffs := notebook.Compare(stored, fresh, tol)
			if sum.Failed != nil { // cells after the failure have no outputs to speak of
				kept := diffs[:0]
				for _, d := range diffs {
					if d.Number <= sum.Failed.Number {
						kept = append(kept, d)
					}
				}
				diffs = kept
			}
			for _, c := range changed {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], c)
			}
			for _, d := range diffs {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], d)
			}
			if sum.Failed != nil || len(diffs) > 0 {
				return exitCode(1)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: all outputs of %d cells are the same (rtol %g, atol %g)\n",
				args[0], sum.Ran, tol.Relative, tol.Absolute)
			return nil
		},
	}
	f := cmd.Flags()
	f.Float64Var(&tol.Relative, "rtol", tol.Relative, "relative tolerance for numbers")
	f.Float64Var(&tol.Absolute, "atol", tol.Absolute, "absolute tolerance for numbers")
	f.DurationVar(&timeout, "cell-timeout", 0, "interrupt a cell that runs longer (for example 90s); 0 is no limit")
	return cmd
}

func everRun(nb *notebook.Notebook) bool {
	for _, c := range nb.Cells {
		if c.Count > 0 || len(c.Outputs) > 0 {
			return true
		}
	}
	return false
}

// runNotebook runs nb in a session of its own and reports each cell on w.
func runNotebook(ctx context.Context, w io.Writer, path string, nb *notebook.Notebook, opts notebook.RunOptions) (notebook.Summary, error) {
	s, err := session.Start(session.Options{Dir: filepath.Dir(path), Output: notice(w)})
	if err != nil {
		return notebook.Summary{}, fmt.Errorf("starting the session: %w", err)
	}
	defer s.Close()
	defer interruptOnSignal(s)()
	opts.Started = func(p notebook.Progress) {
		fmt.Fprintf(w, "[%d/%d] %s\n", p.Index, p.Total, firstLine(p.Cell.Source))
	}
	finished := opts.Finished
	opts.Finished = func(p notebook.Progress) {
		if finished != nil {
			finished(p)
		}
		switch {
		case p.Error == nil:
			fmt.Fprintf(w, "[%d/%d] ok, %s\n", p.Index, p.Total, seconds(p.Elapsed))
		case p.Expected:
			fmt.Fprintf(w, "[%d/%d] failed as its tag %q allows, %s: %s\n", p.Index, p.Total,
				notebook.TagRaisesException, seconds(p.Elapsed), p.Error)
		default:
			fmt.Fprintf(w, "[%d/%d] FAILED, %s\n", p.Index, p.Total, seconds(p.Elapsed))
		}
	}
	sum := notebook.Run(ctx, nb, s, opts)
	if f := sum.Failed; f != nil {
		(&repl.Printer{Out: io.Discard, Err: w}).Failure(f.Error)
		fmt.Fprintf(w, "rooflab: %s: cell %d failed: %s", path, f.Number, f.Error)
		switch left := sum.Total - sum.Ran; left {
		case 0:
		case 1:
			fmt.Fprint(w, "; 1 later cell was not run")
		default:
			fmt.Fprintf(w, "; %d later cells were not run", left)
		}
		fmt.Fprintln(w)
	}
	return sum, nil
}

// writable says why no file can be made at path; empty and "-" are no files.
func writable(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return fmt.Errorf("run: %s is a folder; name a file in it", path)
		}
		return nil // a pipe or a device
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("run: the notebook was not run, since %s cannot be written: %w", path, errors.Unwrap(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func writeResults(stdout io.Writer, nb *notebook.Notebook, in, out, html string) error {
	switch out {
	case "":
	case "-":
		data, err := notebook.Write(nb)
		if err != nil {
			return err
		}
		if _, err := stdout.Write(data); err != nil {
			return fmt.Errorf("writing the notebook to standard output: %w", err)
		}
	default:
		if err := notebook.WriteFile(out, nb); err != nil {
			return err
		}
	}
	if html == "" {
		return nil
	}
	f, err := os.Create(html)
	if err != nil {
		return fmt.Errorf("writing HTML: %w", err)
	}
	err = notebook.HTML(f, nb, strings.TrimSuffix(filepath.Base(in), ".ipynb"))
	return errors.Join(err, f.Close())
}

func firstLine(src string) string {
	line, _, more := strings.Cut(strings.TrimSpace(src), "\n")
	if r := []rune(line); len(r) > 60 {
		line, more = string(r[:60]), true
	}
	if more {
		line += " ..."
	}
	return line
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
