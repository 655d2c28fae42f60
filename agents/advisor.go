package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/prompt"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Advisor proposes edits: rules, a language model (see Ask), or answers that
// were recorded (see Replay). Whoever it is, its edits go the same way.
type Advisor interface {
	// Name is its name in records and scores.
	Name() string
	// Advise returns what it proposes for a case. No proposal says that it has
	// nothing more to propose; an error, that it could not be asked.
	Advise(ctx context.Context, c Case) (Advice, error)
}

// Case is what an advisor is told.
type Case struct {
	Target *target.Target
	Report *insight.Report // the evidence, of the program as Sources have it
	// Launches are the shapes of launches of kernels, on all inputs of the target's
	// sizes, where they are known.
	Launches map[string]rules.Launch
	// Build are the calls of compilers that build it, where they are known beyond
	// what the target says.
	Build   [][]string
	Sources []edit.Source // the current texts, with the lines that may be changed
	Round   int           // from 1
	Base    string        // the id of the program that Sources are of
	// Tried are earlier proposals with what came of them, the latest first. Done are
	// the edits among them that need not be proposed again: they were tried on this
	// very program, or failed on another. nil stands for all of Tried.
	Tried []prompt.Example
	Done  [][]edit.Edit
	// Past is what the history holds of situations like this one, nil where it was
	// not asked.
	Past *Recollected
	// Failure is a proposal of this round that did not build, to be repaired: one
	// proposal is wanted in its place. Of is its name, Repair counts from 1.
	Failure *prompt.Failure
	Of      string
	Repair  int
	Left    Spending // what may still be spent; what is nil is not limited
}

// Spending bounds what an answer may cost.
type Spending struct {
	Tokens *int64
	Money  *float64 // US dollars
}

// Proposal is edits that belong together: they become one candidate.
type Proposal struct {
	Name     string           `json:"name"` // distinct within a round, such as "answer 2"
	Edits    []edit.Edit      `json:"edits"`
	Problems []edit.Rejection `json:"problems,omitempty"` // parts of an answer that are no edits
	Text     string           `json:"text,omitempty"`     // the answer
	Notes    []string         `json:"notes,omitempty"`    // what a reader should know
	// Transformation is the one of package rules that it is, "" where it is none.
	Transformation string `json:"transformation,omitempty"`
	// Model is what answered, as its server calls it, often with a version.
	Model string `json:"model,omitempty"`
}

// Advice is what an advisor says to a case.
type Advice struct {
	Round     int            `json:"round,omitempty"` // of the case, filled in by Optimize, as Base is
	Base      string         `json:"base,omitempty"`
	Proposals []Proposal     `json:"proposals"`
	Supplied  []string       `json:"supplied"` // ids of the evidence that it was shown
	Prompt    *prompt.Prompt `json:"prompt,omitempty"`
	Usage     llm.Spent      `json:"usage"`
	Notes     []string       `json:"notes,omitempty"` // what a reader should know, such as what is not proposed and why
	// Model is what answered, as its server calls it, often with a version.
	Model string `json:"model,omitempty"`
}

// Read reads an answer as a proposal. Blocks that name no file are of the first
// source that may be changed, where there is one only.
func Read(name, text string, sources []edit.Source) Proposal {
	var opt edit.ParseOptions
	n := 0
	for _, s := range sources {
		if len(s.Editable) > 0 {
			opt.File = s.Path
			n++
		}
	}
	if n > 1 {
		opt.File = ""
	}
	a := edit.Parse(text, opt)
	p := Proposal{Name: name, Edits: a.Edits, Problems: a.Problems, Text: text}
	if len(text) > edit.MaxAnswer { // it was not read, and nobody will
		p.Text = strings.ToValidUTF8(text[:mostKept], "")
		p.Notes = append(p.Notes, fmt.Sprintf("of the answer of %d bytes the first %d are kept", len(text), mostKept))
	}
	return p
}

// mostKept is how much is kept of an answer that is too long to be read.
const mostKept = 4 << 10

// Supplied are the ids of a report's items.
func Supplied(r *insight.Report) []string {
	out := make([]string, len(r.Items))
	for i, item := range r.Items {
		out[i] = item.ID
	}
	return out
}
