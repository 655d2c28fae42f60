// Package datasets is the schema that every profile of every tool ends up in,
// the store that keeps it, and the dataframes that come out of it.
//
// In flows: records (Machine, Ceiling, Run, Region, Launch, Counter, Code,
// StaticFeature, PCSample, Telemetry, Attribute), which the packages below
// collectors emit into a Sink, one import being one transaction (Store.Begin,
// Import.Put, Import.Commit), or several small ones (Store.ImportAll). Out
// flow: gota dataframes from SQL (Store.Query) or ready-made:
//
//   - what is there: Launches, Counters, CountersWide, Telemetry, Provenance
//   - call trees with inclusive and exclusive metrics: Tree, TreeOf
//   - groups: ByKernel, Statistics (across repeats), Stalls (by kernel,
//     instruction or source line), TelemetryResampled
//   - runs side by side: Compare (before and after), PairedCounters (what two
//     tools say about the same launches)
//   - reshaping: Pivot
//
// and typed rows (Store.Measurements, Store.Pairs). Values are in SI units, NA
// where there is none. Store.ExportParquet and Store.ImportParquet carry whole
// stores as folders of Parquet files.
//
// The package is thin, in the habit of database/sql: it holds the schema and
// the logic but no engine. An engine registers a Driver; the default one is
// DuckDB and comes with a blank import:
//
//	import _ "github.com/rooflab/rooflab/datasets/duckdb"
//
// rooflab's own binary, and so every cell of its notebooks, has it linked
// already. Under another kernel, or in a program of your own, add that line.
//
// A DuckDB file has one writing process at a time. Any number of processes
// can read it together, with ReadOnly, as long as none writes. Within one
// process a file may be opened many times. A store which another process
// holds gives a LockedError, which says who holds it and what to do.
//
// NULL is never 0: what a tool did not say is a Null value, and a counter
// without a value says why in its Status.
package datasets
