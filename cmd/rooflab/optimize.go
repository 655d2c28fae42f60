package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
)

func init() { register(optimizeCommand) }

func optimizeCommand() *cobra.Command {
	var name string
	var asJSON, apply, need bool
	opt := agents.Options{}
	ask := agents.AskOptions{}
	allow := rules.Options{}
	var how searching
	c := &cobra.Command{
		Use:   "optimize TARGET.toml",
		Short: "Make a program faster: evidence in, validated faster code out",
		Long: `Make the program that TARGET.toml describes faster: profile it, ask a backend for
edits that cite the evidence, hold each edit against the lines that may be
changed, build it, compare its outputs with the original's on fresh inputs (also
at drawn sizes, where TARGET.toml gives bounds for them in [inputs.drawn]),
measure both in turns with a significance test, profile again, and keep what is
shown to be faster. All is built and run in a sandbox, without a network.

All files go into the folder of --out: journal, programs, profiles, report.txt,
report.html, result.json and result.patch. The sources stay as they are, but for
--apply. The same command again goes on where the last one was ended.

Backends: rules, which maps evidence to transformations that keep results and
needs no model; a language model, named as in openai:gpt-5, anthropic:NAME,
gemini:NAME, ollama:NAME or llamacpp:NAME@URL, whose exchanges are recorded in
the folder; and replay:PATH, which gives recorded answers: such a record, a
file with {"round": 1, "answer": "..."} on each line, a folder of .txt files, or
the folder of an earlier run, whose answers are then those of its rounds.

To see it work, take one of the programs that rooflab brings: optimize sample lists
them, and optimize sample NAME writes one.

Each round goes on with the fastest program (--search best), the K fastest
(beam:K), or all that no other beats in both time and energy (pareto, where the
machine has sensors of energy). --judge asks a model first, and only the --measure
most promising candidates of a turn are measured. Candidates and what came of
them are kept in the user's history; optimize history shows it, and --learn tells
the backend of what was alike: code of other programs is then in its prompts.

The exit status is 0 where the loop was completed, whether or not anything
faster was found: with --apply, too, where nothing to apply is said in a line on
standard error. It is 1 where the loop or applying failed (such as for a source that
has changed since), and with --need-gain where no gain was confirmed; 130 where it
was interrupted.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGHUP)
			defer stop()
			for _, name := range []string{"rounds", "candidates", "prompt-tokens", "answer-tokens"} {
				if n, err := cmd.Flags().GetInt(name); err == nil && n < 0 {
					return fmt.Errorf("--%s %d: give a number above 0, or leave it out", name, n)
				}
			}
			t, err := target.Load(args[0])
			if err != nil {
				return err
			}
			if opt.Dir == "" {
				opt.Dir = t.Name + ".optimize"
			}
			var done func() error
			if opt.Advisor, done, err = advisor(name, opt.Dir, t, ask, allow); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, done()) }()
			if err := how.fill(&opt, cmd.ErrOrStderr()); err != nil {
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
				files := "report.html, result.json"
				if res.Patch != "" {
					files += ", result.patch"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nin %s: %s\n", res, res.Dir, files)
			}
			if apply {
				err := res.Apply()
				if err != nil && !errors.Is(err, agents.ErrNoGain) {
					return err
				}
				if err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "rooflab: nothing to apply, the sources stay as they are: %v\n", err)
				}
			}
			if need && !res.Confirmed {
				return fmt.Errorf("%s: no gain was confirmed, and --need-gain asks for one", t.Name)
			}
			return nil
		},
	}
	c.AddCommand(optimizeSampleCommand(), optimizeHistoryCommand())
	f := c.Flags()
	f.StringVar(&name, "backend", "rules", "who proposes edits: rules, replay:PATH, or a model such as llamacpp:NAME@URL")
	f.IntVar(&ask.Answers, "candidates", 0, "candidates of a round: proposals of the rules, answers of a model")
	f.BoolVar(&allow.Distinct, "distinct", false, "rules may take it that pointer parameters never overlap")
	f.IntVar(&ask.Prompt.Tokens, "prompt-tokens", 0, "size of a prompt, at most (8000)")
	f.IntVar(&ask.MaxTokens, "answer-tokens", 0, "size of an answer, at most (8192)")
	f.StringVar(&opt.Dir, "out", "", "the folder of the run (NAME.optimize)")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	f.IntVar(&opt.Rounds, "rounds", 0, "rounds, at most; the target's budget without it")
	f.Uint64Var(&opt.Seed, "seed", 1, "seed of bootstraps; inputs have fresh seeds, which are recorded")
	f.Uint64Var(&opt.Sizes, "size-seed", 0, "seed of the sizes beside the listed ones at which outputs are compared; without it a fresh one, which the report says")
	how.flags(f)
	f.BoolVar(&apply, "apply", false, "write what was kept over the target's sources, where the gain was confirmed; else they stay as they are")
	f.BoolVar(&need, "need-gain", false, "exit with status 1 where no gain was confirmed, for scripts that need one")
	return c
}

// advisor makes the advisor that its name asks for. Exchanges with a language
// model are recorded in the folder of the run; done ends that.
func advisor(name, dir string, t *target.Target, ask agents.AskOptions, allow rules.Options) (a agents.Advisor, done func() error, err error) {
	done = func() error { return nil }
	kind, path, _ := strings.Cut(name, ":")
	switch {
	case name == "rules":
		return agents.Rules(ask.Answers, allow), done, nil
	case kind == "replay" && path != "" && !exchanges(path):
		a, err = agents.Replay(path)
		return a, done, err
	}
	settings, err := llm.UserSettings()
	if err != nil {
		return nil, nil, err
	}
	opt := llm.Options{Settings: settings, Meter: llm.NewMeter(llm.Limit{Tokens: t.Budget.Tokens, Money: t.Budget.Money})}
	if kind != "replay" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, err
		}
		if opt.Record, err = llm.OpenRecord(filepath.Join(dir, "exchanges.jsonl")); err != nil {
			return nil, nil, err
		}
		done = opt.Record.Close
	}
	m, err := llm.Open(name, opt)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w; without a model there are rules and replay:PATH", err), done())
	}
	return agents.Ask(m, ask), done, nil
}

// exchanges says that a file is a record of exchanges with a model, and no list
// of answers.
func exchanges(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return strings.Contains(path, "#") // FILE#MODEL
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadBytes('\n')
	var head struct {
		Key string `json:"key"`
	}
	return json.Unmarshal(line, &head) == nil && head.Key != ""
}
