package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() { register(collectCommand) }

func collectCommand() *cobra.Command {
	o := &collectOptions{}
	var list bool
	c := &cobra.Command{
		Use:   "collect NAME [flags] --store STORE [-- COMMAND...]",
		Short: "Measure a command or this machine, into a store",
		Long: `Measure a command, or this machine, into a store (a DuckDB file, made when it
is not there). Without a NAME, or with --list, it says which collectors there
are and whether this machine can measure with them; NAME --help shows a
collector's flags.

What the command writes passes through. With --json its standard output goes to
standard error, so that standard output is the JSON alone. Ctrl-C ends the
command and all that it started, and nothing is stored.

The exit status is 0 where every run that was stored is ok. It is 1 where the
command failed (the run's status is failed), where this machine lacks what was
to be measured (unavailable) or refuses it (denied), which is stored too, and
where nothing could be stored.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !list {
				_, err := collectors.LookupCollector(args[0])
				return err
			}
			return listCollectors(cmd.Context(), cmd.OutOrStdout(), o.json)
		},
	}
	c.PersistentFlags().StringVar(&o.store, "store", "", "the store to write to")
	c.PersistentFlags().BoolVar(&o.json, "json", false, "print what was stored as JSON")
	c.Flags().BoolVar(&list, "list", false, "list the collectors and whether this machine can measure with them")
	for _, col := range collectors.Collectors() {
		c.AddCommand(collectorCommand(col, o))
	}
	return c
}

// collectOptions are the flags that all collectors have.
type collectOptions struct {
	store string
	json  bool
}

// collectorCommand is the subcommand of one collector.
func collectorCommand(col collectors.Collector, o *collectOptions) *cobra.Command {
	fs := flag.NewFlagSet(col.Name, flag.ContinueOnError)
	collect := col.New(fs)
	c := &cobra.Command{
		Use:                   col.Name + " [flags] --store STORE [-- COMMAND...]",
		Short:                 col.About,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.store == "" {
				return fmt.Errorf("collect %s needs --store STORE, before the command", col.Name)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGHUP)
			defer stop()
			r := collectRun{options: *o, col: col, collect: collect, out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
			return r.do(ctx, args)
		},
	}
	c.Flags().AddGoFlagSet(fs)
	// What follows the command's name is the command's: --help, -n and all.
	c.Flags().SetInterspersed(false)
	return c
}

// collectRun is one call of a collector.
type collectRun struct {
	options  collectOptions
	col      collectors.Collector
	collect  func(context.Context, collectors.Job, *collectors.Output) error
	out, err io.Writer
}

// collectReport is what --json prints.
type collectReport struct {
	Store     string           `json:"store"`
	Collector string           `json:"collector"`
	Command   []string         `json:"command,omitempty"`
	Status    string           `json:"status"` // of the first run that is not ok, else ok; "failed" too where nothing was stored
	Runs      []collectedRun   `json:"runs"`
	Rows      map[string]int64 `json:"rows,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"`
	Error     *reportError     `json:"error,omitempty"` // why nothing was stored
}

type collectedRun struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

func (r *collectRun) do(ctx context.Context, command []string) error {
	job := collectors.Job{Command: command, Stdout: r.out, Stderr: r.err, Log: r.err}
	if r.options.json {
		job.Stdout = r.err
	}
	// A command in a group of its own cannot read from the terminal: it would
	// be stopped. Nobody types into a measurement.
	if _, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS); err != nil {
		job.Stdin = os.Stdin
	}
	sum, err := r.measure(ctx, job)
	report := collectReport{Store: r.options.store, Collector: r.col.Name, Command: command, Status: datasets.RunOK, Runs: []collectedRun{}, Rows: sum.Rows}
	for _, w := range sum.Warnings {
		report.Warnings = append(report.Warnings, w.Msg)
	}
	if sum.More > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf("and %d more", sum.More))
	}
	for _, s := range sum.States {
		report.Runs = append(report.Runs, collectedRun{s.Run, s.Status, s.Error})
		if s.Status != datasets.RunOK && report.Status == datasets.RunOK {
			report.Status = s.Status
		}
	}
	code := 1
	if err != nil {
		report.Status, report.Rows, report.Runs = datasets.RunFailed, nil, []collectedRun{}
		if ctx.Err() != nil {
			err, code = errors.New("interrupted: the command was ended and nothing was stored"), 130
		}
		report.Error = &reportError{Message: err.Error()}
	}
	if perr := r.print(report); perr != nil {
		return perr
	}
	if report.Status != datasets.RunOK {
		return exitCode(code)
	}
	return nil
}

func (r *collectRun) measure(ctx context.Context, job collectors.Job) (collectors.Summary, error) {
	if err := r.checkStore(); err != nil {
		return collectors.Summary{}, err
	}
	g, err := collectors.Gather(ctx, r.col, r.collect, job)
	if err != nil {
		return collectors.Summary{}, err
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return collectors.Summary{}, err
	}
	sum, err := g.Store(ctx, s)
	return sum, errors.Join(err, s.Close())
}

// checkStore looks whether the store will take the result, before anything is
// measured, and does not create it.
func (r *collectRun) checkStore() error {
	path := r.options.store
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if dir := filepath.Dir(path); unix.Access(dir, unix.W_OK) != nil {
			return fmt.Errorf("the store %s cannot be made: nothing can be written to folder %s", path, dir)
		}
		return nil
	}
	s, err := datasets.Open(path)
	var locked *datasets.LockedError
	if errors.As(err, &locked) {
		return nil // it may be free by then
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// patience is how long a result waits for a store that another process writes to.
const patience = 10 * time.Minute

// openStore opens the store, and waits for another process that holds it:
// what was measured must not be lost.
func (r *collectRun) openStore(ctx context.Context) (*datasets.Store, error) {
	for start, told := time.Now(), false; ; {
		s, err := datasets.Open(r.options.store)
		var locked *datasets.LockedError
		if !errors.As(err, &locked) || time.Since(start) > patience {
			return s, err
		}
		if !told {
			fmt.Fprintf(r.err, "rooflab: waiting: %v\n", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (r *collectRun) print(report collectReport) error {
	if r.options.json {
		e := json.NewEncoder(r.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	for _, w := range report.Warnings {
		fmt.Fprintf(r.err, "warning: %s\n", w)
	}
	if report.Error != nil {
		fmt.Fprintf(r.err, "rooflab: %s\n", report.Error.Message)
		return nil
	}
	// The command's output stays the command's.
	w := r.out
	if len(report.Command) > 0 {
		w = r.err
	}
	for _, run := range report.Runs {
		fmt.Fprintf(w, "%s: run %d in %s: %s", r.col.Name, run.ID, report.Store, run.Status)
		if run.Error != "" {
			fmt.Fprintf(w, ": %s", run.Error)
		}
		fmt.Fprintln(w)
	}
	var rows []string
	for _, t := range datasets.Tables {
		if n := report.Rows[t]; n > 0 {
			rows = append(rows, fmt.Sprintf("%s %d", t, n))
		}
	}
	fmt.Fprintf(w, "%s: rows: %s\n", r.col.Name, strings.Join(rows, ", "))
	return nil
}

// listedCollector is a line of the list of collectors.
type listedCollector struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Status string `json:"status"` // ok, unavailable or denied
	Reason string `json:"reason,omitempty"`
}

func listCollectors(ctx context.Context, w io.Writer, asJSON bool) error {
	all := collectors.Collectors()
	lines := make([]listedCollector, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		lines[i] = listedCollector{Name: c.Name, About: c.About, Status: datasets.RunOK}
		if c.Check == nil {
			continue
		}
		wg.Go(func() {
			err := c.Check(ctx)
			var missing *collectors.MissingError
			switch {
			case errors.As(err, &missing):
				lines[i].Status, lines[i].Reason = missing.Status, missing.Error()
			case err != nil:
				lines[i].Status, lines[i].Reason = datasets.RunUnavailable, err.Error()
			}
		})
	}
	wg.Wait()
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"collectors": lines})
	}
	for _, l := range lines {
		fmt.Fprintf(w, "%-12s %-11s %s\n", l.Name, l.Status, l.About)
		if l.Reason != "" {
			fmt.Fprintf(w, "%-24s %s\n", "", l.Reason)
		}
	}
	return nil
}
