package split

import (
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// Keys returns the key of each measurement on an axis:
//
//   - ByKernel: the kernel's short name.
//   - ByProgram: the attribute "program" of the region, else of the run, else
//     the program of the run's command line without its folder.
//   - ByMachine: the name of the GPU, else of the CPU, that the run was on.
//   - ByInput: the run's input hash, the arguments of its command line, and the
//     launch's grid and block, all that is known of them.
//   - ByRow: the number of the row.
//
// A measurement about which the store does not know the key is an error that
// names its run: silently lumped together, such rows would make a wrong split.
func Keys(ctx context.Context, store *datasets.Store, ms []datasets.Measurement, by Axis) ([]string, error) {
	runs, err := facts(ctx, store)
	var programs map[int64]string
	if err == nil && by == ByProgram {
		programs, err = regionPrograms(ctx, store)
	}
	if err != nil {
		return nil, fmt.Errorf("splitting by %s: %w", by, err)
	}
	keys := make([]string, len(ms))
	for i := range ms {
		m := &ms[i]
		run := runs[m.Run]
		switch by {
		case ByKernel:
			keys[i] = m.Kernel
		case ByProgram:
			if keys[i] = programs[m.Region]; keys[i] == "" {
				keys[i] = run.program
			}
		case ByMachine:
			keys[i] = run.machine
		case ByInput:
			keys[i] = strings.Join(strings.Fields(strings.Join([]string{run.input, run.arguments, dims(m.Grid), dims(m.Block)}, " ")), " ")
		case ByRow:
			keys[i] = fmt.Sprint("row ", i)
		default:
			return nil, fmt.Errorf("splitting by %q: expected %s, %s, %s, %s or %s", by, ByKernel, ByProgram, ByMachine, ByInput, ByRow)
		}
		if keys[i] == "" {
			return nil, fmt.Errorf("splitting by %s: nothing in the store tells the %s of run %d (%s, kernel %s): split by another axis, or with Groups by keys of your own",
				by, by, m.Run, m.Tool, m.Kernel)
		}
	}
	return keys, nil
}

func dims(d [3]datasets.Null[int64]) string {
	if !d[0].Valid {
		return ""
	}
	return fmt.Sprintf("(%d,%d,%d)", d[0].V, d[1].Or(1), d[2].Or(1))
}

type runFacts struct{ program, arguments, machine, input string }

func facts(ctx context.Context, store *datasets.Store) (map[int64]runFacts, error) {
	rows, err := store.Rows(ctx, `SELECT u.id, u.command, u.input_hash, coalesce(m.gpu, m.cpu),
		(SELECT min(a.value) FROM attribute a WHERE a.run_id = u.id AND a.region_id IS NULL AND a.name = 'program')
		FROM run u LEFT JOIN machine m ON m.id = u.machine_id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]runFacts{}
	for rows.Next() {
		v := rows.Values()
		id, _ := v[0].(int64)
		command, _ := v[1].(string)
		var f runFacts
		f.input, _ = v[2].(string)
		f.machine, _ = v[3].(string)
		f.program, _ = v[4].(string)
		program, arguments, _ := strings.Cut(strings.TrimSpace(command), " ")
		if f.program == "" {
			f.program = program[strings.LastIndex(program, "/")+1:]
		}
		f.arguments = arguments
		out[id] = f
	}
	return out, rows.Err()
}

// regionPrograms are the programs that regions are said to be of.
func regionPrograms(ctx context.Context, store *datasets.Store) (map[int64]string, error) {
	rows, err := store.Rows(ctx, `SELECT region_id, value FROM attribute WHERE name = 'program' AND region_id IS NOT NULL AND launch_id IS NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]string{}
	for rows.Next() {
		v := rows.Values()
		if id, ok := v[0].(int64); ok {
			out[id], _ = v[1].(string)
		}
	}
	return out, rows.Err()
}
