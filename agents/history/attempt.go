package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
)

// Outcome is what came of an attempt.
type Outcome string

// Outcomes.
const (
	Kept     Outcome = "kept"     // the search went on with it
	Faster   Outcome = "faster"   // shown to be better, and another was taken
	Rejected Outcome = "rejected" // for Reason
	Untried  Outcome = "untried"  // it was not measured, for Reason, and nothing speaks against it
)

// Attempt is one candidate with its situation.
type Attempt struct {
	ID      string    `json:"id"`  // of its run, round, base and name; see Identify
	Run     string    `json:"run"` // that it is of
	At      time.Time `json:"at"`
	Rooflab string    `json:"rooflab,omitempty"`
	Machine string    `json:"machine"` // in words: its processor, its GPU
	Target  string    `json:"target"`
	Backend string    `json:"backend"`
	Round   int       `json:"round"`
	Name    string    `json:"name"` // of the candidate in its round
	Base    string    `json:"base"` // ids of programs
	Program string    `json:"program,omitempty"`

	Situation      Situation   `json:"situation"`
	Transformation string      `json:"transformation,omitempty"` // of package rules, "" of a model
	Edits          []edit.Edit `json:"edits"`
	Withheld       string      `json:"withheld,omitempty"` // why the edits have no text

	Outcome Outcome `json:"outcome"`
	Step    string  `json:"step,omitempty"` // and Reason, of one that was turned down
	Reason  string  `json:"reason,omitempty"`
	// Speedup is the time before over the time after, with its interval; nil where
	// nothing was measured. Energy is the same of energy.
	Speedup *float64      `json:"speedup,omitempty"`
	Low     *float64      `json:"low,omitempty"`
	High    *float64      `json:"high,omitempty"`
	Energy  *float64      `json:"energy,omitempty"`
	Scores  []align.Score `json:"scores,omitempty"` // of each edit
	// Features are static changes of the code (package judge), Predicted is what a
	// judge said before it was measured.
	Features  map[string]float64 `json:"features,omitempty"`
	Predicted *Prediction        `json:"predicted,omitempty"`
}

// Prediction is a judge's word on an attempt, of Speedup.
type Prediction struct {
	Judge   string   `json:"judge"`
	Speedup float64  `json:"speedup"`
	Low     *float64 `json:"low,omitempty"` // nil: no bound
	High    *float64 `json:"high,omitempty"`
	Level   float64  `json:"level"`
}

// End is a run that was completed.
type End struct {
	ID        string    `json:"id"` // "end of RUN"
	Run       string    `json:"run"`
	At        time.Time `json:"at"`
	Machine   string    `json:"machine"`
	Target    string    `json:"target"`
	Language  string    `json:"language"`
	Backend   string    `json:"backend"`
	Confirmed bool      `json:"confirmed"`
	Speedup   float64   `json:"speedup"` // over the original; 1 where nothing was confirmed
	Seconds   float64   `json:"seconds"`
	Calls     int       `json:"calls"`
	Tokens    int64     `json:"tokens"`
	Money     float64   `json:"money"` // US dollars
}

// Identify is the id of an attempt: the same attempt has the same one, however
// often its run is resumed.
func Identify(run string, round int, base, name string) string {
	return identify(run, fmt.Sprint(round), base, name)
}

func identify(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p) // never an error
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// secrets are texts that are no code: keys of services and of SSH, passwords and
// tokens that are given a value. What looks so is not kept.
var secrets = regexp.MustCompile(`(?i)-----BEGIN [A-Z ]*PRIVATE KEY|\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAIza[0-9A-Za-z_-]{30,}|` +
	`(password|passwd|secret|api_?key|access_?token)["']?\s*[:=]\s*["'][^"']{4,}["']`)

// withhold takes the text from edits that hold a secret.
func (a Attempt) withhold() Attempt {
	if len(a.Edits) == 0 || !secrets.MatchString(edit.Format(a.Edits)) {
		return a
	}
	var bare []edit.Edit
	for _, e := range a.Edits {
		bare = append(bare, edit.Edit{Evidence: e.Evidence, Predictions: e.Predictions})
	}
	a.Edits, a.Withheld = bare, "it holds what looks like a key or a password"
	return a
}

// Measured says that its time was measured.
func (a *Attempt) Measured() bool { return a.Speedup != nil && *a.Speedup > 0 }
