package stalls

import (
	"fmt"

	"github.com/rooflab/rooflab/datasets"
)

// Kind says what an Evidence is about.
type Kind string

// Kinds of evidence.
const (
	OfKernel      Kind = "kernel" // stalled samples among all of the kernel
	OfReason      Kind = "reason" // a reason among the kernel's stalled samples
	OfLine        Kind = "line"   // a line among the kernel's stalled samples
	OfLineReason  Kind = "line-reason"
	OfType        Kind = "type" // a type of instruction among the kernel's stalled samples
	OfInstruction Kind = "instruction"
)

// Evidence is one number of a statement, with where it comes from: Samples of
// Of samples, Share their ratio. Fields that do not apply are zero. It is
// plain data, to be cited and stored.
type Evidence struct {
	Kind     Kind
	Run      int64
	Kernel   string // raw name
	Launches []int64
	File     string
	Line     datasets.Null[int64]
	Reason   string
	Class    Class
	Opcodes  []string
	Samples  int64
	Of       int64
	Share    float64 // 0 to 1
	// Codes are rows of the table code, the most stalled first, of CodeCount in
	// all; with Run, Launches and Reason they name the rows of pc_sample.
	Codes     []int64
	CodeCount int

	of *Kernel
}

// Query is SQL that finds Samples in the store again, "" for an Evidence that
// was not made by this process. There is none for types, whose rule is
// Classify: Opcodes says what it put together.
func (e Evidence) Query() string {
	if e.of == nil || e.of.from == nil || e.Kind == OfType {
		return ""
	}
	k := e.of
	q := k.from.with([]*Kernel{k}) + fmt.Sprintf(" SELECT coalesce(sum(s.samples), 0)::BIGINT AS samples FROM s LEFT JOIN c ON c.id = s.code WHERE s.unit = %d", k.unit)
	if len(k.from.issued) > 0 {
		q += " AND s." + k.from.stalled()
	}
	switch e.Kind {
	case OfLine, OfLineReason:
		if e.File == "" {
			q += " AND coalesce(c.file, '') = ''"
		} else {
			q += " AND c.file = " + literals([]string{e.File})
		}
		if e.Line.Valid {
			q += fmt.Sprintf(" AND c.line = %d", e.Line.V)
		} else {
			q += " AND c.line IS NULL"
		}
	case OfInstruction:
		if len(e.Codes) > 0 {
			q += fmt.Sprintf(" AND s.code = %d", e.Codes[0])
		} else {
			q += " AND c.id IS NULL"
		}
	}
	if e.Reason != "" {
		q += " AND s.reason IN (" + literals(k.spelled[e.Reason]) + ")"
	}
	return q
}

func (k *Kernel) evidence(kind Kind, samples, of int64) Evidence {
	e := Evidence{Kind: kind, Run: k.Run, Kernel: k.Raw, Samples: samples, Of: of, Share: part(samples, of), of: k}
	for i := 0; i < len(k.launches) && i < maxCodes; i++ {
		e.Launches = append(e.Launches, k.launches[i].ID)
	}
	return e
}

// Evidence is the part of the kernel's samples that stalled.
func (k *Kernel) Evidence() Evidence { return k.evidence(OfKernel, k.Stalled(), k.Samples) }

// ReasonEvidence is the part of a reason of the kernel's stalled samples.
func (k *Kernel) ReasonEvidence(reason string) Evidence {
	e := k.evidence(OfReason, k.Of(reason), k.Stalled())
	e.Reason = Canonical(reason)
	return e
}

// LineEvidence is the part of a line of the kernel's stalled samples and, for
// a reason that is not "", that reason's part of the line's.
func (k *Kernel) LineEvidence(l Line, reason string) Evidence {
	e := k.evidence(OfLine, l.Stalled(), k.Stalled())
	if reason != "" {
		e = k.evidence(OfLineReason, l.Of(reason), l.Stalled())
		e.Reason = Canonical(reason)
	}
	e.File, e.Line, e.Codes, e.CodeCount = l.File, l.Line, l.Codes, l.Instructions
	return e
}

// TypeEvidence is the part of a type of instruction of the kernel's stalled
// samples.
func (k *Kernel) TypeEvidence(t Type) Evidence {
	e := k.evidence(OfType, t.Stalled(), k.Stalled())
	e.Class, e.Opcodes = t.Class, t.Opcodes
	return e
}

// InstructionEvidence is the part of an instruction of the kernel's stalled
// samples.
func (k *Kernel) InstructionEvidence(i Instruction) Evidence {
	e := k.evidence(OfInstruction, i.Stalled(), k.Stalled())
	e.File, e.Line, e.Class, e.CodeCount = i.File, i.Line, i.Class, 1
	if i.Code != 0 {
		e.Codes = []int64{i.Code}
	}
	if i.Opcode != "" {
		e.Opcodes = []string{i.Opcode}
	}
	return e
}
