package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/datasets"
)

func init() { register(exportCommand) }

func exportCommand() *cobra.Command {
	var store string
	c := &cobra.Command{
		Use:   "export --store STORE DIR",
		Short: "Write a store as a folder of Parquet files",
		Long: `Write all tables of a store into a new folder, one Parquet file each:
` + strings.Join(datasets.Tables, ".parquet, ") + `.parquet,
and manifest.json, which names them with their rows and sums. pandas, Spark,
Arrow and DuckDB read the files; rooflab import brings the folder into another
store, where a second time changes nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := datasets.Open(store, datasets.ReadOnly)
			if err != nil {
				return err
			}
			defer s.Close()
			m, err := s.ExportParquet(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			for _, t := range m.Tables {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d rows, %d bytes\n", t.File, t.Rows, t.Bytes)
			}
			return nil
		},
	}
	c.Flags().StringVar(&store, "store", "", "the store to write out")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}
