package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Verdict is what a person decides of a candidate.
type Verdict string

// Verdicts.
const (
	Accepted Verdict = "accepted" // its files were written over the target's
	Rejected Verdict = "rejected" // it is not to be applied, whatever was measured
)

// Decision is one that a person made. The latest of a program counts.
type Decision struct {
	At        time.Time `json:"at"`
	Candidate string    `json:"candidate"` // as the report names it: its round and its place there, "1.2"
	Name      string    `json:"name"`
	Program   string    `json:"program"` // id of its sources
	Verdict   Verdict   `json:"decision"`
	Why       string    `json:"why,omitempty"`
	// Confirmed says that the gain had been measured again, against the original,
	// after all choices.
	Confirmed bool     `json:"confirmed,omitempty"`
	Files     []string `json:"files,omitempty"` // that were written
}

// File is where the decisions of a run are, below its folder: a line of JSON for
// each.
const File = "decisions.jsonl"

// maxWhy bounds a reason, in bytes.
const maxWhy = 4 << 10

// Append writes a decision down, on disk when it returns.
func Append(dir string, d Decision) (err error) {
	switch {
	case d.Verdict != Accepted && d.Verdict != Rejected:
		return fmt.Errorf("recording a decision of %s: %q is neither %s nor %s", d.Candidate, d.Verdict, Accepted, Rejected)
	case d.Verdict == Rejected && strings.TrimSpace(d.Why) == "":
		return fmt.Errorf("recording that %s is rejected: say why, for whoever reads it later", d.Candidate)
	case len(d.Why) > maxWhy:
		return fmt.Errorf("recording a decision of %s: the reason has %d bytes, and %d at most are kept: say it shorter", d.Candidate, len(d.Why), maxWhy)
	}
	line, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("recording a decision of %s: %w", d.Candidate, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("recording a decision of %s: %w", d.Candidate, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("recording a decision of %s: %w", d.Candidate, err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("recording a decision of %s: %w", d.Candidate, err)
	}
	// What has no end was cut when a process was ended.
	end := int64(bytes.LastIndexByte(data, '\n') + 1)
	err = f.Truncate(end)
	if err == nil {
		_, err = f.WriteAt(append(line, '\n'), end)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("recording a decision of %s: %w", d.Candidate, err)
	}
	return nil
}

// Read reads the decisions of a run's folder in their order, none where there is
// no file.
func Read(dir string) ([]Decision, error) {
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading decisions: %w", err)
	}
	var out []Decision
	for n, line := range bytes.Split(data[:bytes.LastIndexByte(data, '\n')+1], []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var d Decision
		err := json.Unmarshal(line, &d)
		if err == nil && (d.Program == "" || d.Verdict != Accepted && d.Verdict != Rejected) {
			err = errors.New("it names no program, or no decision")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d is no decision (%w): mend or remove the line", path, n+1, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// Latest is the last decision of a program.
func Latest(ds []Decision, program string) (Decision, bool) {
	for i := len(ds) - 1; i >= 0; i-- {
		if ds[i].Program == program {
			return ds[i], true
		}
	}
	return Decision{}, false
}
