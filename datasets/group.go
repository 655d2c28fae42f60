package datasets

import (
	"context"
	"fmt"
)

// Profile is a profile that is in memory as a whole.
type Profile struct {
	Artefact Artefact
	Parts    []Artefact // further files that it consists of
	Records  []Record
}

// Outcome says what became of a Profile: one of Runs, Duplicate and Err is
// there.
type Outcome struct {
	Runs      []int64          // the store's ids
	Rows      map[string]int64 // by table
	Duplicate *DuplicateError
	Err       error
}

// ImportAll imports many small profiles in one transaction, which is much
// faster than one for each. Each is imported as Import would do it, as a whole
// or not at all; the outcomes are in their order. After an error the store is
// as it was before.
func (s *Store) ImportAll(ctx context.Context, profiles []Profile) ([]Outcome, error) {
	outcomes, err := s.importAll(ctx, profiles)
	if err == nil || ctx.Err() != nil || len(profiles) < 2 {
		return outcomes, err
	}
	// The engine refused something, and does not say whose it was.
	outcomes = make([]Outcome, len(profiles))
	for i := range profiles {
		one, err := s.importAll(ctx, profiles[i:i+1])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			outcomes[i].Err = err
			continue
		}
		outcomes[i] = one[0]
	}
	return outcomes, nil
}

func (s *Store) importAll(ctx context.Context, profiles []Profile) ([]Outcome, error) {
	im, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = im.Rollback() }() // after Commit it does nothing
	g := &group{im: im, outcomes: make([]Outcome, len(profiles))}
	if err := g.find(profiles); err != nil {
		return nil, fmt.Errorf("importing %d profiles: %w", len(profiles), err)
	}
	for i := range profiles {
		if err := g.put(&profiles[i], &g.outcomes[i]); err != nil {
			return nil, fmt.Errorf("importing %s: %w", profiles[i].Artefact.Path, err)
		}
	}
	if err := g.commit(); err != nil {
		if len(profiles) == 1 {
			return nil, fmt.Errorf("committing the import of %s: %w", profiles[0].Artefact.Path, err)
		}
		return nil, fmt.Errorf("committing the import of %d profiles: %w", len(profiles), err)
	}
	return g.outcomes, nil
}

// content identifies what was imported.
type content struct{ sha256, kind string }

// source is where a content came from.
type source struct {
	path    string
	run     int64
	version int64
}

// group is an Import of several profiles.
type group struct {
	im       *Import
	known    map[content][]source
	machines *machines
	outcomes []Outcome
	later    []func() error // what is written once the queue is empty
}

// find looks for earlier imports of all profiles at once, and drops those of
// older parsers.
func (g *group) find(profiles []Profile) error {
	g.known = map[content][]source{}
	wanted := map[content]int64{}
	marks := ""
	args := make([]any, 0, len(profiles))
	for i := range profiles {
		a := &profiles[i].Artefact
		wanted[content{a.SHA256, a.Kind}] = int64(a.ParserVersion)
		marks += ", ?"
		args = append(args, a.SHA256)
	}
	if marks == "" {
		return nil
	}
	err := each(g.im.ctx, g.im.tx, `SELECT sha256, kind, path, run_id, parser_version::BIGINT FROM artefact WHERE sha256 IN (`+marks[2:]+`) ORDER BY run_id`, func(v []any) {
		c := content{str(v[0]), str(v[1])}
		g.known[c] = append(g.known[c], source{str(v[2]), integer(v[3]).V, integer(v[4]).V})
	}, args...)
	if err != nil {
		return err
	}
	var old []int64
	for c, version := range wanted {
		var now []source
		for _, s := range g.known[c] {
			if s.version == version {
				now = append(now, s)
			}
		}
		if len(now) == 0 {
			for _, s := range g.known[c] {
				old = append(old, s.run)
			}
		}
		g.known[c] = now
	}
	g.machines, err = g.im.replace(old)
	return err
}

// put puts one profile, or notes in its outcome why not. An error is one of
// the transaction.
func (g *group) put(p *Profile, o *Outcome) error {
	c := content{p.Artefact.SHA256, p.Artefact.Kind}
	if was := g.known[c]; len(was) > 0 {
		o.Duplicate = &DuplicateError{Path: p.Artefact.Path, Earlier: was[0].path, Run: was[0].run}
		return nil
	}
	im := g.im
	im.ids, im.head, im.counts, im.runs = im.top, head{}, map[string]int64{}, nil
	if fault := whole(p.Records); fault != nil {
		o.Err = fmt.Errorf("importing %s: %w", p.Artefact.Path, fault)
		return nil // it is the profile's error, and no reason to end the others
	}
	for _, r := range p.Records {
		if err := im.Put(r); err != nil {
			return err
		}
	}
	o.Runs, o.Rows = im.runs, im.counts
	h, base := im.head, im.ids.run
	g.later = append(g.later, func() error {
		if err := h.write(im.tx, base, g.machines, o.Rows); err != nil {
			return err
		}
		return im.artefacts(o.Rows, o.Runs, p.Artefact, p.Parts)
	})
	g.known[c] = []source{{p.Artefact.Path, im.runs[0], int64(p.Artefact.ParserVersion)}}
	return nil
}

// whole reports what a profile's records lack, before any of them is put.
func whole(records []Record) error {
	var h head
	for _, r := range records {
		if err := r.check(); err != nil {
			return err
		}
		switch v := r.(type) {
		case *Run:
			h.runs = append(h.runs, *v)
		case *Machine:
			h.machines = append(h.machines, *v)
		case *Ceiling:
			h.ceilings = append(h.ceilings, *v)
		case interface{ runOf() int64 }:
			h.refer(v.runOf())
		}
	}
	return h.check()
}

func (g *group) commit() error {
	if g.im.err != nil {
		return g.im.err
	}
	if err := g.im.q.end(); err != nil {
		return err
	}
	if len(g.later) == 0 {
		return g.im.Rollback()
	}
	for _, f := range g.later {
		if err := f(); err != nil {
			return err
		}
	}
	if err := g.im.tx.Commit(); err != nil {
		return err
	}
	g.im.done = true
	return nil
}
