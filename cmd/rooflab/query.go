package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/datasets"
)

func init() { register(queryCommand) }

func queryCommand() *cobra.Command {
	var store, format string
	c := &cobra.Command{
		Use:   "query --store STORE SQL",
		Short: "Ask a store in SQL; nothing is changed",
		Long: `Ask a store in SQL (DuckDB's). - reads the SQL from standard input.

The tables are: ` + strings.Join(datasets.Tables, ", ") + `.
The view provenance says which file each run came from.
The result is an aligned table on a terminal and CSV elsewhere, unless --format
says otherwise. NULL is empty in CSV, null in JSON, NULL in the table. The
store is opened for reading only; several processes may do so at a time.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := writerFor(format)
			if err != nil {
				return err
			}
			sql := args[0]
			if sql == "-" {
				b, err := io.ReadAll(cmd.InOrStdin())
				if err != nil {
					return fmt.Errorf("reading the SQL from standard input: %w", err)
				}
				sql = string(b)
			}
			s, err := datasets.Open(store, datasets.ReadOnly)
			if err != nil {
				return err
			}
			defer s.Close()
			rows, err := s.Rows(cmd.Context(), sql)
			if err != nil {
				return err
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			err = write(out, rows)
			return errors.Join(err, out.Flush(), rows.Close())
		},
	}
	c.Flags().StringVar(&store, "store", "", "the store to ask")
	c.Flags().StringVar(&format, "format", "", "csv, json or table")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// writerFor returns what writes rows in a format; empty takes the one that
// suits standard output.
func writerFor(format string) (func(io.Writer, datasets.Rows) error, error) {
	if format == "" {
		format = "csv"
		if st, err := os.Stdout.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
			format = "table"
		}
	}
	switch format {
	case "csv":
		return writeCSV, nil
	case "json":
		return writeJSON, nil
	case "table":
		return writeTable, nil
	}
	return nil, fmt.Errorf("no output format %q: there are csv, json and table", format)
}

// cellText is a value as CSV and the table show it.
func cellText(v any, null string) string {
	switch v := v.(type) {
	case nil:
		return null
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(v)
}

func writeCSV(w io.Writer, rows datasets.Rows) error {
	c := csv.NewWriter(w)
	var cells []string
	for _, col := range rows.Columns() {
		cells = append(cells, col.Name)
	}
	if err := c.Write(cells); err != nil {
		return err
	}
	for rows.Next() {
		for i, v := range rows.Values() {
			cells[i] = cellText(v, "")
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return errors.Join(rows.Err(), c.Error())
}

// writeJSON writes an array of objects, one a line, keys in the columns'
// order. JSON has no NaN and no infinity: they are null.
func writeJSON(w io.Writer, rows datasets.Rows) error {
	var keys [][]byte
	for _, col := range rows.Columns() {
		k, err := json.Marshal(col.Name)
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	sep := "[\n"
	var line []byte
	for rows.Next() {
		line = append(line[:0], sep...)
		sep = ",\n"
		for i, v := range rows.Values() {
			if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				v = nil
			}
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			line = append(line, "{,"[min(i, 1)])
			line = append(append(append(line, keys[i]...), ':'), b...)
		}
		line = append(line, '}')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	end := "\n]\n"
	if sep == "[\n" {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}

// maxCell is how many characters of a text the table shows.
const maxCell = 60

func writeTable(w io.Writer, rows datasets.Rows) error {
	cols := rows.Columns()
	width := make([]int, len(cols))
	lines := [][]string{make([]string, len(cols))}
	for i, c := range cols {
		lines[0][i] = c.Name
	}
	for rows.Next() {
		line := make([]string, len(cols))
		for i, v := range rows.Values() {
			line[i] = shorten(cellText(v, "NULL"))
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for n, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if cols[i].Type == datasets.Int || cols[i].Type == datasets.Float {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
			b.WriteString("  ")
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
		if n == 0 {
			var rule []string
			for _, k := range width {
				rule = append(rule, strings.Repeat("-", k))
			}
			if _, err := fmt.Fprintln(w, strings.Join(rule, "  ")); err != nil {
				return err
			}
		}
	}
	noun := "rows"
	if len(lines) == 2 {
		noun = "row"
	}
	_, err := fmt.Fprintf(w, "(%d %s)\n", len(lines)-1, noun)
	return err
}

// shorten cuts long texts and takes the line ends out.
func shorten(s string) string {
	s = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s)
	if utf8.RuneCountInString(s) > maxCell {
		return string([]rune(s)[:maxCell-1]) + "…"
	}
	return s
}
