package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

func init() { register(insightCommand) }

func insightCommand() *cobra.Command {
	var store, html string
	var asJSON, asMarkdown, asPrompt bool
	var tokens int
	var opt insight.Options
	c := &cobra.Command{
		Use:   "insight --store STORE",
		Short: "Say what bounds a program and what to do about it, with the evidence",
		Long: `Join roofline, stalls, counters, hot kernels, noise and change into one report
about a run, or about one kernel of it. Each statement has an id and cites the
rows, the metric and the file that it came from; what the profile does not tell
is named with the command that collects it.

Without another format the report is text for a terminal.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := datasets.Open(store, datasets.ReadOnly)
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := insight.Of(cmd.Context(), s, opt)
			if err != nil {
				return err
			}
			if html != "" {
				if err := os.WriteFile(html, []byte(r.Page()), 0o644); err != nil {
					return fmt.Errorf("writing the report: %w", err)
				}
			}
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				return r.WriteJSON(out)
			case asMarkdown:
				_, err = fmt.Fprint(out, r.Markdown())
			case asPrompt:
				var text string
				if text, err = r.Prompt(insight.PromptOptions{Tokens: tokens}); err == nil {
					_, err = fmt.Fprint(out, text)
				}
			case html == "":
				_, err = fmt.Fprintln(out, r)
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&store, "store", "", "the store to look into")
	f.StringVar(&opt.Kernel, "kernel", "", "a kernel or region, by its short or raw name")
	f.Int64Var(&opt.Run, "run", 0, "the run; the latest one without it")
	f.Int64Var(&opt.Against, "against", 0, "a run before, to compare with")
	f.IntVar(&opt.Kernels, "kernels", 0, "how many kernels to look at, at most (5)")
	f.StringSliceVar(&opt.Scale, "scale", nil, "parameters of runs over which growth is looked at")
	f.StringVar(&opt.Device, "device", "", "a device of the built-in table, for ceilings that the profile does not give")
	f.Int64Var(&opt.Ceilings, "ceilings", 0, "a run whose machine has ceilings, for those that the profile does not give")
	f.BoolVar(&asJSON, "json", false, "write the report as JSON")
	f.BoolVar(&asMarkdown, "markdown", false, "write the report as Markdown")
	f.BoolVar(&asPrompt, "prompt", false, "write the report as text for a language model, within --tokens")
	f.IntVar(&tokens, "tokens", 2000, "how many tokens --prompt may have")
	f.StringVar(&html, "html", "", "write the report into an HTML file")
	c.MarkFlagsMutuallyExclusive("json", "markdown", "prompt")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}
