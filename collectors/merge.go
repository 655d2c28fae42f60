package collectors

import (
	"fmt"

	"github.com/rooflab/rooflab/datasets"
)

// Merge is a sink in front of another, for collectors that have a tool write
// files and read them with the tool's Format: it gives the records of several
// parses ids that do not meet, and lets the collector complete each run with
// what it knows better than the file. Next begins the records of another
// parse.
type Merge struct {
	To datasets.Sink
	// Run, where there is one, changes a run before it goes on.
	Run func(*datasets.Run)
	// Machine, where it is not 0, is the machine of all runs: a Machine that
	// the collector has put. What the files say of machines is dropped.
	Machine int64

	base, top map[string]int64
}

// Next moves the ids of the records that follow behind all that went before.
func (m *Merge) Next() {
	m.base = map[string]int64{}
	for t, id := range m.top {
		m.base[t] = id
	}
}

// Reserve keeps ids up to id of a table for the collector's own records.
func (m *Merge) Reserve(table string, id int64) {
	m.note(table, id)
	m.Next()
}

func (m *Merge) note(table string, id int64) {
	if m.top == nil {
		m.top = map[string]int64{}
	}
	m.top[table] = max(m.top[table], id)
}

// Put passes a record on, with its ids moved.
func (m *Merge) Put(r datasets.Record) error {
	c := datasets.Clone(r)
	own := func(id *int64, table string) {
		if *id != 0 {
			*id += m.base[table]
			m.note(table, *id)
		}
	}
	machine := func(id *int64) {
		if m.Machine != 0 {
			*id = m.Machine
			return
		}
		own(id, "machine")
	}
	switch v := c.(type) {
	case *datasets.Machine:
		if m.Machine != 0 {
			return nil
		}
		own(&v.ID, "machine")
	case *datasets.Ceiling:
		machine(&v.Machine)
		own(&v.Run, "run")
	case *datasets.Run:
		own(&v.ID, "run")
		machine(&v.Machine)
		if m.Run != nil {
			m.Run(v)
		}
	case *datasets.Region:
		own(&v.ID, "region")
		own(&v.Run, "run")
		own(&v.Parent, "region")
	case *datasets.Launch:
		own(&v.ID, "launch")
		own(&v.Run, "run")
		own(&v.Region, "region")
	case *datasets.Counter:
		own(&v.Run, "run")
		own(&v.Region, "region")
		own(&v.Launch, "launch")
	case *datasets.Code:
		own(&v.ID, "code")
		own(&v.Run, "run")
		own(&v.Region, "region")
	case *datasets.StaticFeature:
		own(&v.Run, "run")
		own(&v.Region, "region")
	case *datasets.PCSample:
		own(&v.Run, "run")
		own(&v.Launch, "launch")
		own(&v.Code, "code")
	case *datasets.Telemetry:
		own(&v.Run, "run")
	case *datasets.Attribute:
		own(&v.Run, "run")
		own(&v.Region, "region")
		own(&v.Launch, "launch")
	default:
		return fmt.Errorf("a record of table %s cannot be merged", r.Table())
	}
	return m.To.Put(c)
}
