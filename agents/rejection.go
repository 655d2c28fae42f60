package agents

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/validate"
	"github.com/rooflab/rooflab/modeling/change"
)

// Step is where a candidate was turned down.
type Step string

// Steps that turn candidates down.
const (
	Editing    Step = "edit"
	Building   Step = "build"
	Validating Step = "validate"
	Measuring  Step = "measure"
	Profiling  Step = "profile"
	Choosing   Step = "choose"
)

// Reason is why a candidate was turned down. Those of package edit (outside,
// signature change, unknown evidence and so on) keep their names.
type Reason string

// Reasons beyond those of package edit.
const (
	NoEdit       Reason = "no edit"          // the answer holds none
	Repeated     Reason = "repeated"         // the same program was tried before
	InvalidCode  Reason = "invalid code"     // it does not build
	TimerTricks  Reason = "timer tricks"     // it puts functions of its own before those that take time, or claims another time than passed
	Replaces     Reason = "replaces library" // it puts functions of its own before others of the C library
	OutputCopied Reason = "output copied"    // it looks for outputs where it has nothing to look for
	WrongResult  Reason = "wrong result"     // outputs differ, or are not there
	ExtraOutput  Reason = "extra output"
	Fails        Reason = "failed"           // it ends with an error
	Exceeds      Reason = "exceeded a limit" // of time, memory, output, processes, files
	Writes       Reason = "wrote outside"
	Network      Reason = "network"
	LeftRunning  Reason = "left processes running"
	Sleeping     Reason = "sleeping" // it calls functions to let time pass, or waits where the original computes
	Slower       Reason = "slower"
	NotFaster    Reason = "not faster"   // no difference that counts
	Unclear      Reason = "unclear"      // no difference was shown
	Outdone      Reason = "outdone"      // faster, and another candidate of the round more so
	NotProfiled  Reason = "not profiled" // faster, and it fails where it is profiled: nothing could go on from it
	OutOfBudget  Reason = "out of budget"
	JudgedSlower Reason = "judged slower" // not measured: others of its turn were predicted to be faster
	MoreEnergy   Reason = "more energy"
)

// Rejection says why a candidate was turned down.
type Rejection struct {
	Step   Step   `json:"step"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
}

func (r *Rejection) String() string {
	return fmt.Sprintf("turned down by %s (%s): %s", r.Step, r.Reason, r.Detail)
}

// ofEdits says why nothing of a proposal was taken. Edits that define a clock of
// their own are no way to be faster, whether they would be taken or lie outside.
func ofEdits(p *edit.Patch, problems []edit.Rejection) *Rejection {
	for _, o := range p.Outcomes {
		if o.Rejected != nil && o.Rejected.Reason != edit.Outside {
			continue
		}
		if name := ownClock(o.Edit); name != "" {
			return turnedDown(Editing, TimerTricks, fmt.Sprintf("it defines %s, by which time is taken: the system's is the one to use", name))
		}
	}
	if p.Accepted() > 0 {
		return nil
	}
	for _, o := range p.Outcomes {
		if o.Rejected != nil {
			return turnedDown(Editing, Reason(o.Rejected.Reason), o.Rejected.Error())
		}
	}
	for _, r := range problems {
		return turnedDown(Editing, Reason(r.Reason), r.Error())
	}
	return &Rejection{Editing, NoEdit, "the answer holds no edit"}
}

// ofBuild turns down what does not build, and what defines functions of the C
// library that the original leaves to it.
func ofBuild(original, p *Program) *Rejection {
	if tried := ofAttempts(original, p); tried != nil {
		return tried
	}
	if !p.OK() {
		return ofFailedBuild(p)
	}
	had := map[string]bool{}
	for _, product := range original.Products {
		for _, name := range product.Suspect {
			had[product.Path+" "+name] = true
		}
	}
	var found *Rejection
	for _, product := range p.Products {
		for _, name := range product.Suspect {
			switch {
			case had[product.Path+" "+name]:
			case slices.Contains(clocks, name):
				return &Rejection{Building, TimerTricks, fmt.Sprintf("%s defines %s, by which time is taken: the system's is the one to use", product.Path, name)}
			case found == nil:
				found = &Rejection{Building, Replaces, fmt.Sprintf("%s defines %s, which is the C library's", product.Path, name)}
			}
		}
	}
	if found == nil {
		found = sleeps(original, p)
	}
	return found
}

// sleeps turns down a program that calls functions to let time pass where the
// original calls none. Whether they are reached does not matter: a faster
// program has no use for them. A library's own calls are not seen, and what waits
// in another way is at best as fast as the original.
func sleeps(original, p *Program) *Rejection {
	for _, product := range p.Products {
		had := imports(filepath.Join(original.dir, filepath.FromSlash(product.Path)))
		for _, name := range imports(filepath.Join(p.dir, filepath.FromSlash(product.Path))) {
			if slices.Contains(waiting, name) && !slices.Contains(had, name) {
				return &Rejection{Building, Sleeping, fmt.Sprintf("%s calls %s, which the original does not", product.Path, name)}
			}
		}
	}
	return nil
}

// imports are the functions that an executable or library takes from others;
// none of a file that is neither.
func imports(path string) []string {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range symbols {
		out = append(out, s.Name)
	}
	return out
}

var validationReasons = map[validate.Kind]Reason{
	validate.Failed: Fails, validate.Exceeded: Exceeds, validate.Differs: WrongResult, validate.MissingFile: WrongResult,
	validate.ExtraFile: ExtraOutput, validate.WroteOutside: Writes, validate.ReadSecret: OutputCopied, validate.Network: Network,
	validate.LeftRunning: LeftRunning,
}

// ofValidation turns down what is wrong. What a candidate tried and may not comes
// first: it explains the rest.
func ofValidation(v Validation) *Rejection {
	if v.OK {
		return nil
	}
	for _, tried := range []bool{true, false} {
		for _, r := range v.Reasons {
			trick := r.Kind == validate.ReadSecret || r.Kind == validate.WroteOutside || r.Kind == validate.Network || r.Kind == validate.LeftRunning
			if trick == tried {
				return turnedDown(Validating, validationReasons[r.Kind], r.Text)
			}
		}
	}
	return &Rejection{Validating, WrongResult, "no input was checked"}
}

// ofMeasurement turns down what is not shown to be faster: on each size that is
// optimized for none is slower, and one at least faster.
func ofMeasurement(ms []Measurement) *Rejection {
	faster := false
	for _, m := range ms {
		if m.Failed != "" {
			reason := m.FailedAs
			if reason == "" {
				reason = WrongResult
			}
			return turnedDown(Measuring, reason, m.Failed)
		}
		for _, f := range m.Findings {
			switch f.Kind {
			case measure.Waits:
				if m.Verdict != change.Faster { // else it waits for what computes
					return &Rejection{Measuring, Sleeping, f.Text}
				}
			case measure.OwnClock:
				return &Rejection{Measuring, TimerTricks, f.Text}
			}
		}
		if m.Verdict == change.Slower {
			return &Rejection{Measuring, Slower, m.String()}
		}
		faster = faster || m.Verdict == change.Faster
	}
	if faster {
		return nil
	}
	for _, m := range ms {
		if m.Verdict == change.Same {
			return &Rejection{Measuring, NotFaster, m.String()}
		}
	}
	detail := "nothing was measured"
	if len(ms) > 0 {
		detail = ms[0].String()
	}
	return &Rejection{Measuring, Unclear, detail}
}

// failedAs is the reason for which a measured run turns its program down.
func failedAs(err error) Reason {
	var end *measure.EndError
	switch {
	case !errors.As(err, &end):
		return WrongResult
	case end.Outcome.OK():
		return LeftRunning
	case end.Outcome.End == sandbox.Exited || end.Outcome.End == sandbox.Signalled:
		return Fails
	}
	return Exceeds
}
