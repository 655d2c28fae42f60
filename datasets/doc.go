// Package datasets is the schema that every profile of every tool ends up in,
// the store that keeps it, and the dataframes that come out of it.
//
// In flows: records (Machine, Ceiling, Run, Region, Launch, Counter, Code,
// StaticFeature, PCSample, Telemetry, Attribute), which the packages below
// collectors emit into a Sink, one import being one transaction (Store.Begin,
// Import.Put, Import.Commit). Out flow: gota dataframes from SQL
// (Store.Query) or from the typed helpers (Store.Launches, Store.Counters,
// Store.CountersWide, Store.Tree), and typed rows (Store.Measurements).
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
