package datasets

import "fmt"

// DefaultMaxCells is how many cells a dataframe gets unless MaxCells says
// otherwise: some gigabytes of memory.
const DefaultMaxCells = 50_000_000

// MaxCells sets how many cells (rows times columns) a dataframe of the store
// may have.
func MaxCells(n int) Option { return func(o *options) { o.maxCells = n } }

func (s *Store) maxCells() int {
	if s.cells > 0 {
		return s.cells
	}
	return DefaultMaxCells
}

// fits reports that a dataframe of so many rows and columns would be too
// large, before the memory for it is taken.
func (s *Store) fits(rows, columns int) error {
	if limit := s.maxCells(); columns > 0 && rows > limit/columns {
		return &TooLargeError{Columns: columns, Limit: limit}
	}
	return nil
}

// TooLargeError says that a result is too large for a dataframe.
type TooLargeError struct {
	Columns int
	Limit   int // cells
	Hint    string
}

func (e *TooLargeError) Error() string {
	hint := e.Hint
	if hint == "" {
		hint = "let the store add up (Statistics, ByKernel, GROUP BY), take a part (Filter.Run, Filter.Kernel, Filter.Metrics, Filter.Sample, LIMIT), " +
			"go through the rows one by one (Store.Rows), or open the store with datasets.MaxCells"
	}
	return fmt.Sprintf("the result has %d columns and more than %d rows, %d cells, which is the most that a dataframe may have: %s",
		e.Columns, e.Limit/max(e.Columns, 1), e.Limit, hint)
}
