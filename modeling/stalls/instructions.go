package stalls

import (
	"slices"
	"strconv"
	"strings"
)

// code finds the most stalled instructions, and which of them each line has.
func (r *reader) code() error {
	var unit int64
	var lines map[place]*Line
	top := &best[Instruction]{most: r.a.Options.Instructions, less: func(a, b *Instruction) bool {
		return stallsLess(&a.Tally, &b.Tally, func() bool { return a.Code > b.Code })
	}, tally: func(i *Instruction) *Tally { return &i.Tally }}
	of := map[*Line]*best[Instruction]{}
	end := func() {
		if unit > 0 {
			k := r.a.Kernels[unit]
			k.Instructions = top.sorted()
			k.RestOfCode = Rest{Count: top.count, Tally: top.rest}
			for l, b := range of {
				for _, i := range b.sorted() {
					l.Codes = append(l.Codes, i.Code)
				}
			}
		}
		top.items, top.count, top.rest = nil, 0, Tally{}
		clear(of)
	}
	err := r.each(`, t AS (SELECT unit, code, sum(samples)::BIGINT AS n, coalesce(sum(samples) FILTER (WHERE `+r.stalled()+`), 0)::BIGINT AS stalled, sum(not_issued)::BIGINT AS idle
			FROM s GROUP BY unit, code)
		SELECT t.unit, c.id, t.n, t.stalled, t.idle, coalesce(c.file, ''), c.line FROM t LEFT JOIN c ON c.id = t.code ORDER BY t.unit`, func(v []any) {
		if u := whole(v[0]); u != unit {
			end()
			unit = u
			lines = map[place]*Line{}
			for i := range r.a.Kernels[u].Lines {
				l := &r.a.Kernels[u].Lines[i]
				lines[place{l.File, l.Line}] = l
			}
		}
		n, stalled := whole(v[2]), whole(v[3])
		i := &Instruction{Code: whole(v[1]), Tally: Tally{Samples: n, Selected: n - stalled, NotIssued: maybe(v[4])}}
		top.put(i)
		l := lines[place{word(v[5]), maybe(v[6])}]
		if l == nil {
			return
		}
		l.Instructions++
		if i.Code == 0 {
			return
		}
		b := of[l]
		if b == nil {
			b = &best[Instruction]{most: maxCodes, less: top.less, tally: top.tally}
			of[l] = b
		}
		b.put(i)
	})
	end()
	return err
}

// reasons completes the kept instructions of the part that is being read.
func (r *reader) reasons() error {
	kept := map[[2]int64]*Instruction{}
	var ids []string
	for u, k := range r.a.Kernels {
		if k == nil || !slices.Contains(r.now, int64(u)) {
			continue
		}
		for i := range k.Instructions {
			in := &k.Instructions[i]
			in.Tally = Tally{}
			kept[[2]int64{int64(u), in.Code}] = in
			if in.Code != 0 {
				ids = append(ids, strconv.FormatInt(in.Code, 10))
			}
		}
	}
	among := "false"
	if len(ids) > 0 {
		among = "s.code IN (" + strings.Join(ids, ", ") + ")"
	}
	err := r.each(` SELECT s.unit, c.id, s.reason, `+sums+` FROM s LEFT JOIN c ON c.id = s.code WHERE `+among+` OR c.id IS NULL GROUP BY ALL ORDER BY ALL`, func(v []any) {
		if in := kept[[2]int64{whole(v[0]), whole(v[1])}]; in != nil {
			in.add(word(v[2]), whole(v[3]), maybe(v[4]))
		}
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	type facts struct {
		Instruction
	}
	of := map[int64]facts{}
	err = r.each(` SELECT c.id, c.isa, c."offset", c.opcode, substr(c.text, 1, 400), c.file, c.line, CASE WHEN g.kind = 'function' THEN g.short END
		FROM c LEFT JOIN region g ON g.id = c.region_id WHERE c.id IN (`+strings.Join(ids, ", ")+`)`, func(v []any) {
		of[whole(v[0])] = facts{Instruction{ISA: word(v[1]), Offset: maybe(v[2]), Opcode: word(v[3]), Text: word(v[4]), File: word(v[5]), Line: maybe(v[6]), Function: word(v[7])}}
	})
	for at, in := range kept {
		f := of[at[1]]
		f.Code, f.Tally = in.Code, in.Tally
		op := f.Opcode
		if op == "" && f.ISA != "source" {
			op = f.Text
		}
		f.Class = Classify(f.ISA, op)
		f.sort()
		*in = f.Instruction
	}
	return err
}
