package stalls

import (
	"context"
	"errors"
	"fmt"

	"github.com/rooflab/rooflab/datasets"
)

const (
	// engineMemory is what the engine may take beyond what it has already, in
	// bytes: enough to add up mostCode rows of code, and blocks of the file.
	engineMemory = 160 << 20
	// engineThreads is how many of the engine's threads add up at most: each of
	// them has tables of its own.
	engineThreads = 4
)

// bound lowers what the engine takes while a store is analysed. Left to
// itself it would keep every block of the file that it has read, up to most of
// the machine's memory. What it has already is left to it, so that others who
// use the store meanwhile lose nothing but room to grow. What does not fit it
// writes to its temporary files, which lie beside the store.
//
// The settings are the engine's for the store in this process. Who lowers them
// sets them back; an analysis that finds them low leaves them alone.
func bound(ctx context.Context, s *datasets.Store) (restore func() error, err error) {
	set := func(ctx context.Context, sql string) error {
		rows, err := s.Rows(ctx, sql)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	}
	var memory string
	var used, threads int64
	rows, err := s.Rows(ctx, "SELECT current_setting('memory_limit'), current_setting('threads')::BIGINT, (SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory())")
	if err != nil {
		return nil, fmt.Errorf("asking the store's engine for its limits: %w", err)
	}
	for rows.Next() {
		v := rows.Values()
		memory, threads, used = word(v[0]), whole(v[1]), whole(v[2])
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("asking the store's engine for its limits: %w", err)
	}
	var undo []string
	lower := func(is bool, setting string, to int64, unit, was string) error {
		if !is {
			return nil
		}
		if err := set(ctx, fmt.Sprintf("SET %s = '%d%s'", setting, to, unit)); err != nil {
			return fmt.Errorf("lowering the engine's %s to %d%s: %w", setting, to, unit, err)
		}
		undo = append(undo, fmt.Sprintf("SET %s = '%s'", setting, was))
		return nil
	}
	restore = func() error {
		var errs []error
		for _, sql := range undo {
			errs = append(errs, set(context.WithoutCancel(ctx), sql))
		}
		return errors.Join(errs...)
	}
	limit := used + engineMemory
	err = lower(size(memory) > float64(limit), "memory_limit", limit, "B", memory)
	if err == nil {
		err = lower(threads > engineThreads, "threads", engineThreads, "", fmt.Sprint(threads))
	}
	if err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}

// size is a number of bytes as DuckDB writes it, "18.8 GiB"; 0 if it is none.
func size(text string) float64 {
	var n float64
	var unit string
	if _, err := fmt.Sscan(text, &n, &unit); err != nil {
		return 0
	}
	return n * map[string]float64{"bytes": 1, "byte": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}[unit]
}
