// Package counters chooses the few hardware counters that explain run time.
//
// In flows a Table: one row per launch or configuration, one column per
// counter, and a target, the time. Out flows a Result: K counters with a
// stability each, what they mean in words, and beside them the rankings of
// LASSO and of mutual information.
//
// # Preparation
//
// Rows without a target are left out. Columns are removed, each with its
// reason, that have no value in too many rows, that are constant or nearly so,
// and that hold the time in disguise: by name or unit (split.TimeDerived), or
// because time, alone or times one other column, gives them exactly; so are the
// properties of the compiled kernel that tuners report (registers, memory
// declared), which are no counters: Options.Keep takes them in. What gaps
// remain take the column's median, so that they say nothing. The target, when
// positive, is taken by its logarithm, as is a positive column that is skewed
// or spans more than a decade; then all are standardised. Columns that are
// copies of each other (|r| > 0.999) form a group, and one represents it.
//
// # Choice
//
// Each member of the ensemble is an orthogonal matching pursuit (Pati,
// Rezaiifar and Krishnaprasad 1993; with the gain of Rebollo-Neira and Lowe's
// optimised pursuit, 2002) on a bootstrap sample of the rows and a random part
// of the columns. At each step it draws among the best few candidates with a
// probability in proportion to their gain (after Elad and Yavneh's RandOMP,
// 2009), and it stops where a gain is what the best of p columns of noise would
// give (the risk inflation criterion of Foster and George 1994). A counter's
// stability is the share of the members that chose it among those that were
// offered it (Meinshausen and Bühlmann 2010). Last, a plain pursuit on all rows
// picks K counters by gain times stability, so that two counters that stand in
// for each other are not both taken.
//
// The same seed gives the same result; the order of rows and columns, units
// and copies of columns do not matter.
package counters
