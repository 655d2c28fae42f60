package datasets

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// table collects rows for a dataframe.
type table struct {
	names []string
	types []series.Type
	cols  [][]any
}

func (t *table) column(name string, typ series.Type) {
	t.names, t.types, t.cols = append(t.names, name), append(t.types, typ), append(t.cols, []any{})
}

// columns adds columns of one type.
func (t *table) columns(typ series.Type, names ...string) {
	for _, n := range names {
		t.column(n, typ)
	}
}

// add adds a row: nil or an absent Null is NA.
func (t *table) add(values ...any) {
	for i, v := range values {
		switch x := v.(type) {
		case int64:
			v = int(x)
		case Null[int64]:
			v = cell(x)
		case Null[float64]:
			v = x.any()
		}
		t.cols[i] = append(t.cols[i], v)
	}
}

func (t *table) frame() (dataframe.DataFrame, error) {
	ss := make([]series.Series, len(t.names))
	for i := range t.names {
		ss[i] = series.New(t.cols[i], t.types[i], t.names[i])
	}
	df := dataframe.New(ss...)
	if df.Err != nil {
		return df, fmt.Errorf("building a dataframe of %d columns: %w", len(ss), df.Err)
	}
	return df, nil
}

// sorted lists the keys of a map.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ref returns an id as a dataframe takes it: 0, which means "none", is NA.
func ref(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// text returns s, or nil where it is empty: an empty text says nothing.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
