package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/registry"
)

func init() { register(datasetsCommand) }

func datasetsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "datasets",
		Short: "Public data sets of measured performance, by name",
		Long: `Public data sets of measured performance, by name.

A data set is looked for below the folder that $` + registry.Env + ` names, as
$` + registry.Env + `/NAME, then in the user's cache. What is fetched is verified by
the SHA-256 of each file. Folders of your own below $` + registry.Env + ` are found
by their names, too.`,
	}
	c.AddCommand(datasetsList(), datasetsFetch(), datasetsPath())
	return c
}

// setReport is one data set, as list --json prints it.
type setReport struct {
	Name     string `json:"name"`
	About    string `json:"about,omitempty"`
	Licence  string `json:"licence,omitempty"`
	Note     string `json:"note,omitempty"`
	Page     string `json:"page,omitempty"`
	Citation string `json:"citation,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"`
	Files    int    `json:"files,omitempty"`
	// Where is "own" ($ROOFLAB_DATASETS), "cache" or "remote" (to be fetched).
	Where string `json:"where"`
	Path  string `json:"path,omitempty"`
	// Problem says why what is there cannot be used as it is.
	Problem string `json:"problem,omitempty"`
}

func datasetsList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the data sets and where they are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			reports := []setReport{}
			for _, s := range registry.Sets() {
				r := setReport{Name: s.Name, About: s.About, Licence: s.Licence, Note: s.Note, Page: s.Page, Citation: s.Citation, Bytes: s.Bytes(), Files: len(s.Files)}
				r.locate()
				reports = append(reports, r)
			}
			for _, name := range registry.Own() {
				r := setReport{Name: name, About: "a folder of your own"}
				r.locate()
				reports = append(reports, r)
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				return e.Encode(map[string]any{"datasets": reports})
			}
			return printSets(cmd.OutOrStdout(), reports)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with page, citation and path")
	return c
}

func (r *setReport) locate() {
	place, err := registry.Find(r.Name)
	var missing *registry.MissingError
	switch {
	case errors.As(err, &missing):
		r.Where = "remote"
	case err != nil:
		r.Where, r.Problem = "own", err.Error()
	case place.Own:
		r.Where, r.Path = "own", place.Dir
	default:
		r.Where, r.Path = "cache", place.Dir
	}
	if len(place.Differ) > 0 {
		r.Problem = differ(place)
	}
}

// differ warns of files that are not the published ones: what is computed from
// them may not be what others get.
func differ(p registry.Place) string {
	return fmt.Sprintf("%s: not as published: %s", p.Dir, strings.Join(p.Differ, ", "))
}

func printSets(w io.Writer, reports []setReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSIZE\tLICENCE\tWHERE\tABOUT")
	for _, r := range reports {
		size := ""
		if r.Bytes > 0 {
			size = fmt.Sprintf("%.2f MB", float64(r.Bytes)/1e6)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.Name, size, r.Licence, r.Where, r.About)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Note != "" {
			fmt.Fprintf(w, "note: %s: %s\n", r.Name, r.Note)
		}
		if r.Problem != "" {
			fmt.Fprintf(w, "warning: %s: %s\n", r.Name, r.Problem)
		}
	}
	return nil
}

func datasetsFetch() *cobra.Command {
	var store string
	c := &cobra.Command{
		Use:   "fetch NAME",
		Short: "Get a data set, verify it and print its folder",
		Long: `Get a data set, verify it and print the folder with its files. What is on this
machine already is not fetched again. With --store its files are imported, too.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := ""
			place, err := registry.Fetch(cmd.Context(), args[0], func(file string, done, total int64) {
				if file != last {
					fmt.Fprintf(cmd.ErrOrStderr(), "fetching %s (%.2f MB)\n", file, float64(total)/1e6)
					last = file
				}
			})
			if err != nil {
				return err
			}
			if len(place.Differ) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", differ(place))
			}
			if store == "" {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), place.Dir)
				return err
			}
			s, err := datasets.Open(store)
			if err != nil {
				return err
			}
			im := importer{store: s, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
			err = im.all(cmd.Context(), []string{place.Dir})
			return errors.Join(err, s.Close())
		},
	}
	c.Flags().StringVar(&store, "store", "", "import the files into this store")
	return c
}

func datasetsPath() *cobra.Command {
	return &cobra.Command{
		Use:   "path NAME",
		Short: "Print the folder of a data set that is on this machine",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := registry.Find(args[0])
			if err != nil {
				return err
			}
			if len(place.Differ) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", differ(place))
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), place.Dir)
			return err
		},
	}
}
