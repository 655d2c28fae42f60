package stalls

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// place is a line of a file.
type place struct {
	file string
	line datasets.Null[int64]
}

// load reads what is kept of kernels, part by part.
func (r *reader) load(ks []*Kernel) error {
	err := parted(ks, func(part []*Kernel) error {
		l := &loader{reader: r, ks: part, of: byUnit(part), with: r.with(part)}
		for _, step := range []func() error{l.where, l.why, l.facts, l.texts} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range ks {
		k.finish()
	}
	return nil
}

// loader reads a part.
type loader struct {
	*reader
	ks   []*Kernel
	of   map[int64]*Kernel
	with string // the common part of its queries
}

// where finds lines and instructions, and keeps the most stalled.
func (l *loader) where() error {
	var k *Kernel
	var at *Line
	var none *Instruction // samples without a row of the table code
	lines := &best[Line]{most: l.opt.Lines, less: func(a, b *Line) bool {
		return stallsLess(&a.Tally, &b.Tally, func() bool { return a.File > b.File || a.File == b.File && a.Line.V > b.Line.V })
	}, tally: func(l *Line) *Tally { return &l.Tally }}
	code := &best[Instruction]{most: l.opt.Instructions, less: func(a, b *Instruction) bool {
		return stallsLess(&a.Tally, &b.Tally, func() bool { return a.Code > b.Code })
	}, tally: func(i *Instruction) *Tally { return &i.Tally }}
	flush := func() {
		if at != nil {
			lines.put(at)
		}
		at = nil
	}
	end := func() {
		flush()
		if none != nil {
			code.put(none)
		}
		if k != nil {
			k.Lines, k.Rest = lines.take()
			k.Instructions, k.RestOfCode = code.take()
		}
		none = nil
	}
	err := l.each(l.with+` SELECT t.unit, coalesce(c.id, 0), t.n, t.stalled, t.idle, coalesce(c.file, ''), c.line FROM
		(SELECT unit, code, sum(samples)::BIGINT AS n, coalesce(sum(samples) FILTER (WHERE `+l.stalled()+`), 0)::BIGINT AS stalled, sum(not_issued)::BIGINT AS idle FROM s GROUP BY unit, code) t
		LEFT JOIN c ON c.id = t.code ORDER BY t.unit, 6, 7 NULLS FIRST, t.stalled DESC, t.n DESC, t.code`, func(v []any) {
		if u := l.of[whole(v[0])]; u != k {
			end()
			k = u
		}
		n, stalled := whole(v[2]), whole(v[3])
		i := &Instruction{Code: whole(v[1]), Tally: Tally{Samples: n, Selected: n - stalled, NotIssued: maybe(v[4])}}
		p := place{word(v[5]), maybe(v[6])}
		if at == nil || at.File != p.file || at.Line != p.line {
			flush()
			at = &Line{File: p.file, Line: p.line}
		}
		at.plus(i.Tally)
		at.Instructions++
		switch {
		case i.Code != 0:
			if len(at.Codes) < maxCodes {
				at.Codes = append(at.Codes, i.Code)
			}
			code.put(i)
		case none == nil:
			none = i
		default:
			none.plus(i.Tally)
		}
	})
	end()
	return err
}

// why finds the reasons of lines and instructions that are kept, of types of
// instructions and of launches.
func (l *loader) why() error {
	places, ids := map[place]int64{}, map[int64]bool{}
	var lines []string
	cut := false
	for _, k := range l.ks {
		for i := range k.Lines {
			p := place{k.Lines[i].File, k.Lines[i].Line}
			if _, ok := places[p]; ok {
				continue
			}
			places[p] = int64(len(places))
			number := "NULL"
			if p.line.Valid {
				number = strconv.FormatInt(p.line.V, 10)
			}
			lines = append(lines, fmt.Sprintf("(%d, %s, %s::BIGINT)", places[p], literals([]string{p.file}), number))
		}
		for i := range k.Instructions {
			ids[k.Instructions[i].Code] = true
		}
		cut = cut || len(k.launches) < k.LaunchCount
	}
	launch := "s.launch"
	if cut {
		var kept []string
		for _, k := range l.ks {
			for i := range k.launches {
				kept = append(kept, strconv.FormatInt(k.launches[i].ID, 10))
			}
		}
		launch = "CASE WHEN s.launch IN (" + strings.Join(kept, ", ") + ") THEN s.launch END"
	}
	unknown := "NULL" // where there is no row of the table code
	if n, ok := places[place{}]; ok {
		unknown = strconv.FormatInt(n, 10)
	}
	r := rows{loader: l, lines: map[[2]int64]*Tally{}, code: map[[2]int64]*Tally{}, launches: map[[2]int64]*Tally{}, types: map[*Kernel]map[Class]*Type{}}
	for _, k := range l.ks {
		for i := range k.Lines {
			x := &k.Lines[i]
			r.lines[[2]int64{k.unit, places[place{x.File, x.Line}]}] = &x.Tally
			x.Tally = Tally{}
		}
		for i := range k.Instructions {
			r.code[[2]int64{k.unit, k.Instructions[i].Code}] = &k.Instructions[i].Tally
			k.Instructions[i].Tally = Tally{}
		}
		k.Launches = slices.Clone(k.launches)
		for i := range k.Launches {
			r.launches[[2]int64{k.unit, k.Launches[i].ID}] = &k.Launches[i].Tally
		}
	}
	// Numbers stand for texts where samples are added up, which takes a third of
	// the time: for a reason its place in spelled, for an opcode the first row of
	// the table code that has it.
	const op = `coalesce(c.isa, '') AS isa, CASE WHEN coalesce(c.opcode, '') <> '' THEN c.opcode
		WHEN c.isa <> 'source' THEN regexp_extract(coalesce(c.text, ''), '^\s*(?:@\S+\s+)?(\S+)', 1) ELSE '' END AS op`
	r.ops = map[int64][2]string{}
	err := l.each(l.with+` SELECT min(id), isa, op FROM (SELECT c.id, `+op+` FROM c) GROUP BY isa, op`, func(v []any) { r.ops[whole(v[0])] = [2]string{word(v[1]), word(v[2])} })
	if err != nil {
		return err
	}
	number := "CASE reason"
	for i, reason := range l.spelled {
		number += fmt.Sprintf(" WHEN %s THEN %d", literals([]string{reason}), i)
	}
	err = l.each(l.with+`, kept(place, file, line) AS NOT MATERIALIZED (VALUES `+strings.Join(lines, ", ")+`),
		k AS NOT MATERIALIZED (SELECT x.id, min(x.id) OVER (PARTITION BY x.isa, x.op) AS op, kept.place, CASE WHEN x.id IN (`+idList(ids)+`) THEN x.id END AS code
			FROM (SELECT c.id, coalesce(c.file, '') AS file, c.line, `+op+` FROM c) x LEFT JOIN kept ON kept.file = x.file AND kept.line IS NOT DISTINCT FROM x.line)
		SELECT grouping(t.place, t.code, t.launch, t.op) AS level, t.unit, t.reason, coalesce(t.place, t.code, t.launch, t.op), sum(t.samples)::BIGINT, sum(t.not_issued)::BIGINT FROM
		(SELECT s.unit, (`+number+` END)::INTEGER AS reason, s.samples, s.not_issued, CASE WHEN k.id IS NULL THEN `+unknown+` ELSE k.place END AS place,
			CASE WHEN k.id IS NULL THEN 0 ELSE k.code END AS code, `+launch+` AS launch, coalesce(k.op, 0) AS op FROM s LEFT JOIN k ON k.id = s.code) t
		GROUP BY GROUPING SETS ((t.unit, t.reason, t.place), (t.unit, t.reason, t.code), (t.unit, t.reason, t.launch), (t.unit, t.reason, t.op)) ORDER BY ALL`, r.add)
	for k, of := range r.types {
		for _, t := range of {
			k.Types = append(k.Types, *t)
		}
	}
	return err
}

// rows puts what why finds to where it belongs.
type rows struct {
	*loader
	lines, code, launches map[[2]int64]*Tally // by unit, and place, row of the table code, or launch
	types                 map[*Kernel]map[Class]*Type
	ops                   map[int64][2]string // isa and opcode by the first row of the table code that has them
}

// Levels are what grouping() says: a bit is set for each column that a row is
// not grouped by.
const (
	byPlace  = 0b0111
	byCode   = 0b1011
	byLaunch = 0b1101
	byType   = 0b1110
)

func (r *rows) add(v []any) {
	level, unit, reason, what, n, idle := whole(v[0]), whole(v[1]), r.spelled[whole(v[2])], maybe(v[3]), whole(v[4]), maybe(v[5])
	var t *Tally
	switch at := [2]int64{unit, what.V}; {
	case !what.Valid: // what is not kept
	case level == byType:
		t = r.typeOf(r.of[unit], r.ops[what.V])
	case level == byPlace:
		t = r.lines[at]
	case level == byCode:
		t = r.code[at]
	case level == byLaunch:
		t = r.launches[at]
	}
	if t != nil {
		t.add(reason, n, idle)
	}
}

func (r *rows) typeOf(k *Kernel, isaAndOp [2]string) *Tally {
	isa, op := isaAndOp[0], isaAndOp[1]
	if r.types[k] == nil {
		r.types[k] = map[Class]*Type{}
	}
	class := Classify(isa, op)
	t := r.types[k][class]
	if t == nil {
		t = &Type{Class: class}
		r.types[k][class] = t
	}
	if op != "" && len(t.Opcodes) < 64 && !slices.Contains(t.Opcodes, op) {
		t.Opcodes = append(t.Opcodes, op)
	}
	return &t.Tally
}

func idList(ids map[int64]bool) string {
	out := make([]string, 0, len(ids))
	for id := range ids {
		out = append(out, strconv.FormatInt(id, 10))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// facts says what the kept instructions are.
func (l *loader) facts() error {
	kept := map[int64][]*Instruction{}
	ids := map[int64]bool{}
	for _, k := range l.ks {
		for i := range k.Instructions {
			in := &k.Instructions[i]
			in.Class = Unknown
			if in.Code != 0 {
				ids[in.Code] = true
				kept[in.Code] = append(kept[in.Code], in)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return l.each(l.with+` SELECT c.id, c.isa, c."offset", c.opcode, substr(c.text, 1, 400), c.file, c.line, CASE WHEN g.kind = 'function' THEN g.short END
		FROM c LEFT JOIN region g ON g.id = c.region_id WHERE c.id IN (`+idList(ids)+`)`, func(v []any) {
		for _, in := range kept[whole(v[0])] {
			in.ISA, in.Offset, in.Opcode, in.Text, in.File, in.Line, in.Function = word(v[1]), maybe(v[2]), word(v[3]), word(v[4]), word(v[5]), maybe(v[6]), word(v[7])
			op := in.Opcode
			if op == "" && in.ISA != "source" {
				op = in.Text
			}
			in.Class = Classify(in.ISA, op)
		}
	})
}

// maxSource is how many lines of source, and maxText how many bytes of them, a
// part keeps.
const (
	maxSource = 200_000
	maxText   = 16 << 20
)

// texts fetches the source of files that have samples.
func (l *loader) texts() error {
	type file struct {
		run  int64
		name string
	}
	wanted := map[file][]*Kernel{}
	known := map[string]bool{}
	for _, k := range l.ks {
		for _, x := range k.Lines {
			f := file{k.Run, x.File}
			if n := len(wanted[f]); x.File != "" && (n == 0 || wanted[f][n-1] != k) {
				wanted[f] = append(wanted[f], k)
			}
			if x.File != "" && len(known) < 1000 {
				known[x.File] = true
			}
		}
	}
	if len(known) == 0 {
		return nil
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	sort.Strings(names)
	texts := map[file][]string{}
	size := 0
	err := l.each(`SELECT run_id, file, line, min(substr(text, 1, 1000)) FROM code WHERE isa = 'source' AND line BETWEEN 1 AND `+strconv.Itoa(maxSource)+` AND text IS NOT NULL
		AND file IN (`+literals(names)+`) GROUP BY ALL ORDER BY 1, 2, 3 LIMIT `+strconv.Itoa(maxSource), func(v []any) {
		f := file{whole(v[0]), word(v[1])}
		if size += len(word(v[3])); size > maxText || wanted[f] == nil {
			return
		}
		lines := texts[f]
		for int64(len(lines)) < whole(v[2])-1 {
			lines = append(lines, "")
		}
		texts[f] = append(lines, word(v[3]))
	})
	for f, lines := range texts {
		for _, k := range wanted[f] {
			k.Source(f.name, strings.Join(lines, "\n"))
		}
	}
	return err
}

// finish computes shares, and what is left beside what is kept.
func (k *Kernel) finish() {
	all := k.Stalled()
	rest := map[string]Count{}
	for _, c := range k.Reasons {
		rest[c.Reason] = c
	}
	for i := range k.Launches {
		k.Launches[i].sort()
	}
	for i := range k.Lines {
		l := &k.Lines[i]
		l.sort()
		l.Share = part(l.Stalled(), all)
		for _, c := range l.Reasons {
			of := rest[c.Reason]
			of.Samples -= c.Samples
			of.NotIssued.V -= c.NotIssued.V
			rest[c.Reason] = of
		}
	}
	for i := range k.Instructions {
		k.Instructions[i].sort()
		k.Instructions[i].Share = part(k.Instructions[i].Stalled(), all)
	}
	for i := range k.Types {
		k.Types[i].sort()
		sort.Strings(k.Types[i].Opcodes)
		k.Types[i].Share = part(k.Types[i].Stalled(), all)
	}
	sort.Slice(k.Types, func(i, j int) bool {
		a, b := &k.Types[i], &k.Types[j]
		return stallsLess(&b.Tally, &a.Tally, func() bool { return a.Class < b.Class })
	})
	if k.Rest.Count > 0 {
		for _, c := range k.Reasons {
			if of := rest[c.Reason]; of.Samples > 0 {
				of.NotIssued.Valid = of.NotIssued.Valid && k.Rest.NotIssued.Valid
				k.Rest.Reasons = append(k.Rest.Reasons, of)
			}
		}
	}
	k.Rest.sort()
	k.Rest.Share, k.RestOfCode.Share = part(k.Rest.Stalled(), all), part(k.RestOfCode.Stalled(), all)
	k.loaded = true
}
