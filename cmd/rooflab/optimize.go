package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/target"
)

func init() { register(optimizeCommand) }

func optimizeCommand() *cobra.Command {
	var backend string
	var asJSON, apply bool
	opt := agents.Options{}
	c := &cobra.Command{
		Use:   "optimize TARGET.toml",
		Short: "Make a program faster: evidence in, validated faster code out",
		Long: `Make the program that TARGET.toml describes faster: profile it, ask a backend for
edits that cite the evidence, hold each edit against the lines that may be
changed, build it, compare its outputs with the original's on fresh inputs,
measure both in turns with a significance test, profile again, and keep what is
shown to be faster. All is built and run in a sandbox, without a network.

All files go into the folder of --out: journal, programs, profiles, report.txt,
report.html, result.json and result.patch. The sources stay as they are, but for
--apply. The same command again goes on where the last one was ended.

The backend replay:PATH gives recorded answers: a file with {"round": 1,
"answer": "..."} on each line, or a folder of .txt files.

The exit status is 0 where the loop was completed, whether or not anything
faster was found.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGHUP)
			defer stop()
			t, err := target.Load(args[0])
			if err != nil {
				return err
			}
			if opt.Advisor, err = advisor(backend); err != nil {
				return err
			}
			opt.Progress = func(e agents.Event) { fmt.Fprintln(cmd.ErrOrStderr(), e) }
			res, err := agents.Optimize(ctx, t, opt)
			if err != nil {
				if ctx.Err() != nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "rooflab: interrupted: the same command goes on from here")
					return exitCode(130)
				}
				return err
			}
			if asJSON {
				data, err := res.JSON()
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(data)
				if err != nil {
					return err
				}
			} else {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nin %s: report.html, result.json, result.patch\n", res, res.Dir)
			}
			if apply {
				return res.Apply()
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&backend, "backend", "rules", "who proposes edits: replay:PATH")
	f.StringVar(&opt.Dir, "out", "", "the folder of the run (NAME.optimize)")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	f.IntVar(&opt.Rounds, "rounds", 0, "rounds, at most; the target's budget without it")
	f.Uint64Var(&opt.Seed, "seed", 1, "seed of bootstraps; inputs have fresh seeds, which are recorded")
	f.BoolVar(&apply, "apply", false, "write what was kept over the target's sources, where the gain was confirmed")
	return c
}

// advisor makes the advisor that a backend's name asks for.
func advisor(backend string) (agents.Advisor, error) {
	kind, of, _ := strings.Cut(backend, ":")
	switch {
	case kind == "replay" && of != "":
		return agents.Replay(of)
	}
	return nil, fmt.Errorf("there is no backend %q: give replay:PATH", backend)
}
