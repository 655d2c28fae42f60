package datasets

import (
	"context"
	"fmt"
	"strings"
)

// seriesKey is what the counters of one metric have in common. A profile has
// few of them and many values of each, so the store keeps them once, in the
// table series; the view counter puts both together again.
type seriesKey struct{ metric, instance, unit, rawUnit, status string }

func keyOf(c *Counter) seriesKey {
	return seriesKey{c.Metric, c.Instance, c.Unit, c.RawUnit, c.Status}
}

// metricSeries are the series of a store within one transaction. The zero value
// reads them when they are needed first.
type metricSeries struct {
	ids   map[seriesKey]int64
	keys  []seriesKey // of those met in this transaction, by place
	known []int64     // their ids
	after []int       // the place of the one that came after each, last time
	place map[int64]int
	last  int // the place of the one that came last
	top   int64
}

// load reads what the store has.
func (s *metricSeries) load(tx Tx) error {
	s.ids, s.place, s.last = map[seriesKey]int64{}, map[int64]int{}, -1
	return each(context.Background(), tx, `SELECT id::BIGINT, metric, instance, unit, raw_unit, status FROM series`, func(v []any) {
		id := integer(v[0]).V
		s.ids[seriesKey{str(v[1]), str(v[2]), str(v[3]), str(v[4]), str(v[5])}] = id
		s.top = max(s.top, id)
	})
}

// id returns the id of a counter's series, and adds it to the store when it is
// new. Profiles repeat their metrics in the same order, so the one that
// followed the last time is tried first: that spares the hash of five texts.
func (s *metricSeries) id(tx Tx, c *Counter) (int64, error) {
	key := keyOf(c)
	if s.last >= 0 {
		if p := s.after[s.last]; p >= 0 && s.keys[p] == key {
			s.last = p
			return s.known[p], nil
		}
	}
	id, ok := s.ids[key]
	if !ok {
		// The texts may be parts of a line that would stay in memory.
		key = seriesKey{strings.Clone(key.metric), strings.Clone(key.instance), strings.Clone(key.unit), strings.Clone(key.rawUnit), strings.Clone(key.status)}
		s.top++
		id = s.top
		s.ids[key] = id
		if err := tx.Append("series", []Value{intValue(id), textValue(key.metric), wordValue(key.instance), wordValue(key.unit),
			wordValue(key.rawUnit), textValue(key.status)}); err != nil {
			return 0, fmt.Errorf("adding a row to table series: %w", err)
		}
	}
	p, ok := s.place[id]
	if !ok {
		p = len(s.keys)
		s.place[id] = p
		s.keys, s.known, s.after = append(s.keys, key), append(s.known, id), append(s.after, -1)
	}
	if s.last >= 0 {
		s.after[s.last] = p
	}
	s.last = p
	return id, nil
}

// append adds the values of counters.
func (s *metricSeries) append(tx Tx, counters []Counter) error {
	if len(counters) == 0 {
		return nil
	}
	if s.ids == nil {
		if err := s.load(tx); err != nil {
			return err
		}
	}
	var row [7]Value
	for i := range counters {
		c := &counters[i]
		id, err := s.id(tx, c)
		if err != nil {
			return err
		}
		row = [7]Value{intValue(c.Run), intValue(c.Region), idValue(c.Launch), intValue(id), maybeFloat(c.Value), wordValue(c.RawValue), maybeFloat(c.Coverage)}
		if err := tx.Append("counter_value", row[:]); err != nil {
			return fmt.Errorf("adding a row to table counter_value: %w", err)
		}
	}
	return nil
}
