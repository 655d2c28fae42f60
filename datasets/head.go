package datasets

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// head is what an import says about runs and machines. It is few, and held
// back until the import ends: which machine of the store a run belongs to is
// known only then. Ids are those of the emitter.
type head struct {
	machines []Machine
	runs     []Run
	ceilings []Ceiling
	used     map[int64]bool // runs that other records refer to
	last     int64          // the one that was referred to last
}

// refer notes that a record belongs to a run.
func (h *head) refer(run int64) {
	if run == h.last {
		return
	}
	h.last = run
	if h.used == nil {
		h.used = map[int64]bool{}
	}
	h.used[run] = true
}

// check reports what would leave a row without a run, or a run without its
// machine.
func (h *head) check() error {
	if len(h.runs) == 0 {
		return errors.New("it holds no run")
	}
	runs := map[int64]bool{}
	for i := range h.runs {
		if runs[h.runs[i].ID] {
			return fmt.Errorf("two runs have the id %d", h.runs[i].ID)
		}
		runs[h.runs[i].ID] = true
	}
	for run := range h.used {
		if !runs[run] {
			return fmt.Errorf("records belong to run %d, which is none of its runs", run)
		}
	}
	machines := map[int64]bool{0: true}
	for i := range h.machines {
		machines[h.machines[i].ID] = true
	}
	for i := range h.runs {
		if !machines[h.runs[i].Machine] {
			return fmt.Errorf("run %d names machine %d, which is none of its machines", h.runs[i].ID, h.runs[i].Machine)
		}
	}
	for i := range h.ceilings {
		c := &h.ceilings[i]
		if !machines[c.Machine] || c.Run != 0 && !runs[c.Run] {
			return fmt.Errorf("a ceiling of %s names machine %d and run %d, which are not both there", c.Level, c.Machine, c.Run)
		}
	}
	return nil
}

// write writes machines that are new, runs and ceilings; run is what moves the
// ids of runs. It takes what the store has already out of counts.
func (h *head) write(tx Tx, run int64, known *machines, counts map[string]int64) error {
	var row [24]Value
	ids := map[int64]int64{}
	for _, m := range h.machines {
		first := h.runs[0].ID
		for i := range h.runs {
			if h.runs[i].Machine == m.ID {
				first = h.runs[i].ID
				break
			}
		}
		local := m.ID
		m.ID, m.run = 0, 0
		id, ok := known.ids[m]
		if ok {
			counts["machine"]--
		} else {
			known.top++
			id = known.top
			known.ids[m] = id
			m.ID, m.run = id, first+run
			if err := appendAll(tx, []Machine{m}, row[:0]); err != nil {
				return err
			}
		}
		ids[local] = id
	}
	for _, r := range h.runs {
		r.ID, r.Machine = r.ID+run, ids[r.Machine]
		if err := appendAll(tx, []Run{r}, row[:0]); err != nil {
			return err
		}
	}
	for _, c := range h.ceilings {
		c.Machine, c.Run = ids[c.Machine], moved(c.Run, run)
		if c.Run == 0 {
			if known.ceilings[c] {
				counts["ceiling"]--
				continue // the same line of the same datasheet
			}
			known.ceilings[c] = true
		}
		if err := appendAll(tx, []Ceiling{c}, row[:0]); err != nil {
			return err
		}
	}
	return nil
}

// machines are the machines of a store, by their facts, and the ceilings that
// belong to no run.
type machines struct {
	ids      map[Machine]int64 // keys without ids
	top      int64
	ceilings map[Ceiling]bool
}

func knownMachines(ctx context.Context, q querier) (*machines, error) {
	k := &machines{ids: map[Machine]int64{}, ceilings: map[Ceiling]bool{}}
	err := each(ctx, q, `SELECT id, host, cpu, gpu, arch, units, clock_hz, mem_hz, mem_bytes, driver FROM machine ORDER BY id DESC`, func(v []any) {
		m := Machine{Host: str(v[1]), CPU: str(v[2]), GPU: str(v[3]), Arch: str(v[4]), Units: integer(v[5]),
			ClockHz: number(v[6]), MemHz: number(v[7]), MemBytes: integer(v[8]), Driver: str(v[9])}
		id := integer(v[0]).V
		k.ids[m] = id // the first one of several in the end
		k.top = max(k.top, id)
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, `SELECT machine_id, level, value, unit, measured, clock_hz, source FROM ceiling WHERE run_id IS NULL`, func(v []any) {
		measured, _ := v[4].(bool)
		k.ceilings[Ceiling{Machine: integer(v[0]).V, Level: str(v[1]), Value: number(v[2]).V, Unit: str(v[3]),
			Measured: measured, ClockHz: number(v[5]), Source: str(v[6])}] = true
	})
	return k, err
}

// each calls f with the values of every row.
func each(ctx context.Context, q querier, sql string, f func([]any), args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		f(rows.Values())
	}
	return rows.Err()
}

// remove drops runs with all that belongs to them. A machine that other runs
// were made on stays, as one that the first of those described.
func remove(ctx context.Context, tx Tx, runs []int64) error {
	list := make([]string, len(runs))
	for i, r := range runs {
		list[i] = strconv.FormatInt(r, 10)
	}
	in := "(" + strings.Join(list, ", ") + ")"
	statements := []string{
		`UPDATE machine SET run_id = u.first FROM (SELECT machine_id, min(id) AS first FROM run WHERE id NOT IN ` + in + ` GROUP BY machine_id) u
			WHERE u.machine_id = machine.id AND machine.run_id IN ` + in,
		`DELETE FROM ceiling WHERE run_id IS NULL AND machine_id IN (SELECT id FROM machine WHERE run_id IN ` + in + `)`,
	}
	for _, t := range Tables {
		col := "run_id"
		if t == "run" {
			col = "id"
		}
		if t == "counter" {
			t = "counter_value"
		}
		statements = append(statements, `DELETE FROM `+t+` WHERE `+col+` IN `+in)
	}
	for _, s := range statements {
		if err := tx.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
