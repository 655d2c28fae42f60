package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/judge/learned"
	"github.com/rooflab/rooflab/agents/judge/modeled"
	"github.com/rooflab/rooflab/agents/search"
)

// searching is how `rooflab optimize` searches, judges and learns.
type searching struct {
	search, prefer, judge, backend, history string
	keep, learn                             int
}

func (s *searching) flags(f *pflag.FlagSet) {
	f.StringVar(&s.search, "search", "", "best, beam:K or pareto; the target's without it")
	f.StringVar(&s.prefer, "prefer", "", "of a Pareto front: time, energy or edp, their product")
	f.StringVar(&s.judge, "judge", "", "who ranks candidates before they are measured: history, or a `MODEL` of 'rooflab train llmperf' for OpenCL kernels")
	f.StringVar(&s.backend, "judge-backend", "", "what the model runs on: xla, go, or the best that is there")
	f.IntVar(&s.keep, "measure", 0, fmt.Sprintf("with --judge, how many candidates of a turn are measured (%d)", agents.DefaultKeep))
	f.StringVar(&s.history, "history", "", "the `FILE` that remembers candidates, or off; without it "+history.Env+" or the user's")
	f.IntVar(&s.learn, "learn", 0, "tell the backend of up to `N` similar attempts from the history; rules put first what has gained most")
}

// fill fills in the options. w hears why there is no history.
func (s *searching) fill(opt *agents.Options, w io.Writer) error {
	var err error
	if s.search != "" {
		if opt.Search, err = search.Parse(s.search); err != nil {
			return err
		}
	}
	if s.prefer != "" {
		if opt.Prefer, err = search.Preferred(s.prefer); err != nil {
			return err
		}
	}
	if opt.History, err = s.store(); err != nil {
		if s.learn > 0 || s.judge == "history" {
			return err
		}
		fmt.Fprintf(w, "rooflab: nothing is remembered: %v\n", err)
	}
	opt.Learn, opt.Keep = s.learn, s.keep
	switch {
	case s.judge == "" && s.keep != 0:
		return errors.New("--measure says how many candidates are measured of those that are judged: give --judge history or --judge MODEL, too")
	case s.judge == "":
	case s.keep < 0:
		return fmt.Errorf("--measure %d: at least one candidate is measured", s.keep)
	case s.judge == "history":
		if opt.History == nil {
			return errors.New("--judge history: there is no history, for it is off: name its file by --history FILE")
		}
		opt.Judge = learned.New(*opt.History)
	default:
		if opt.Judge, err = modeled.Load(s.judge, s.backend); err != nil {
			return err
		}
	}
	return nil
}

// store is the history, nil where it is off.
func (s *searching) store() (*history.Store, error) {
	switch s.history {
	case "":
		return history.User()
	case "off":
		return nil, nil
	}
	return &history.Store{Path: s.history}, nil
}

func optimizeHistoryCommand() *cobra.Command {
	var s searching
	var asJSON bool
	c := &cobra.Command{
		Use:   "history",
		Short: "What became of candidates over all runs: by backend, and how judges did",
		Long: `Show what the history of optimizations holds: for each backend its runs, the
candidates, how many were shown to be faster, the geometric mean over the runs that
ended (1 where nothing was confirmed) and how well its edits agree with their
evidence; for each judge, how its predictions came true; and what a judge that
learns from this history would have said of each target from all others.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := s.store()
			if err != nil {
				return err
			}
			if store == nil {
				return fmt.Errorf("there is no history: %s says off; name a file by --history FILE", history.Env)
			}
			log, err := store.Read(cmd.Context())
			if err != nil {
				return err
			}
			skill, unlearnt := learned.LeaveOneOut(cmd.Context(), log.Attempts, agents.DefaultKeep)
			out := cmd.OutOrStdout()
			if asJSON {
				e := json.NewEncoder(out)
				e.SetIndent("", "  ")
				return e.Encode(summary(store.Path, log, skill, unlearnt))
			}
			fmt.Fprintf(out, "%s: %d attempts, %d runs that ended\n\n%s\n", store.Path, len(log.Attempts), len(log.Ends), log.Backends())
			if js := log.Judges(); len(js) > 0 {
				fmt.Fprintf(out, "\n%s\n", js)
			}
			if unlearnt != nil {
				fmt.Fprintf(out, "\nNothing can be learnt from it to judge by: %v\n", unlearnt)
			} else {
				fmt.Fprintf(out, "\nTo judge by it: %s\n", skill)
			}
			for _, n := range log.Notes {
				fmt.Fprintln(out, "\n"+n)
			}
			return nil
		},
	}
	c.Flags().StringVar(&s.history, "history", "", "the `FILE`; without it "+history.Env+" or the user's")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// summary is what --json prints. What is not known is null.
func summary(path string, log *history.Log, skill learned.Skill, unlearnt error) any {
	type mean struct {
		Value agents.Number `json:"value"`
		N     int           `json:"n"`
	}
	type backend struct {
		history.Backend
		Speedup      agents.Number `json:"speedup"`
		Coverage     mean          `json:"coverage"`
		Location     mean          `json:"location"`
		Direction    mean          `json:"direction"`
		Hallucinated int           `json:"hallucinated"`
	}
	backends := []backend{}
	for _, b := range log.Backends() {
		a := b.Aligned
		backends = append(backends, backend{b, agents.Number(b.Speedup), mean{agents.Number(a.Coverage.Value), a.Coverage.N},
			mean{agents.Number(a.Location.Value), a.Location.N}, mean{agents.Number(a.Direction.Value), a.Direction.N}, a.Hallucinated})
	}
	out := map[string]any{"history": path, "attempts": len(log.Attempts), "ended": len(log.Ends), "backends": backends, "judges": log.Judges(), "notes": log.Notes, "learning": nil}
	if unlearnt == nil {
		out["learning"] = map[string]any{"attempts": skill.Attempts, "targets": skill.Targets, "log_error": agents.Number(skill.LogError), "log_error_median": agents.Number(skill.Median),
			"rank_correlation": agents.Number(skill.Rank), "level": skill.Level, "covered": agents.Number(skill.Covered), "regret": agents.Number(skill.Regret), "regret_blind": agents.Number(skill.Chance), "keep": skill.Keep, "compared": skill.Compared}
	}
	return out
}
