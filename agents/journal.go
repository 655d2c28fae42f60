package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// journal is the memory of a run on disk: a line of JSON for each step that is
// done, with what it gave. A run that was ended anywhere goes through the same
// steps again and takes what they gave from here; what is not here is done.
type journal struct {
	file    *os.File
	done    map[string]entry
	begun   map[string]bool // steps that say that they begin, and have not ended
	spent   time.Duration   // of the steps that were asked for
	resumed int             // steps that were taken from the file
}

// entry is a line.
type entry struct {
	Step    string          `json:"step"`
	Input   string          `json:"input,omitempty"` // SHA-256 of what the step was done with
	At      time.Time       `json:"at"`
	Seconds float64         `json:"seconds"`
	Begin   bool            `json:"begin,omitempty"` // the step begins
	Lost    bool            `json:"lost,omitempty"`  // it had begun before, in a process that was ended within it
	Value   json.RawMessage `json:"value,omitempty"`
}

// openJournal opens the journal of a folder, which no other process has open.
func openJournal(dir string) (*journal, error) {
	path := filepath.Join(dir, "journal.jsonl")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	j := &journal{file: f, done: map[string]entry{}, begun: map[string]bool{}}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process optimizes in %s: wait for its end, or take another folder", dir), f.Close())
	}
	if err := j.read(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := syncDir(dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// read reads the lines. A last one without an end was cut when the process
// ended: its step is not done.
func (j *journal) read(path string) error {
	data, err := io.ReadAll(j.file)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for n, line := range bytes.Split(data[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e entry
		err := json.Unmarshal(line, &e)
		if err == nil && e.Step == "" {
			err = errors.New("no step is named")
		}
		if err != nil {
			return fmt.Errorf("the journal %s:%d is damaged (%w): take another folder, or cut the file before that line", path, n+1, err)
		}
		if e.Begin {
			j.begun[e.Step] = true
			continue
		}
		delete(j.begun, e.Step)
		j.done[e.Step] = e
	}
	if err := j.file.Truncate(int64(whole)); err != nil {
		return fmt.Errorf("mending the journal: %w", err)
	}
	_, err = j.file.Seek(int64(whole), io.SeekStart)
	return err
}

func (j *journal) close() error { return j.file.Close() }

// write appends a line, on disk when it returns.
func (j *journal) write(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing the step %s: %w", e.Step, err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return j.file.Sync()
}

// once does a step, or returns what it gave when it was done before. input is
// what decides what the step gives.
func once[T any](ctx context.Context, j *journal, step string, input any, do func(context.Context) (T, error)) (T, error) {
	var out T
	if err := ctx.Err(); err != nil {
		return out, err
	}
	sum, err := digest(input)
	if err != nil {
		return out, fmt.Errorf("the step %s: %w", step, err)
	}
	if e, ok := j.done[step]; ok {
		if e.Input != sum {
			return out, fmt.Errorf("the step %s was done with something else before: sources, target or rooflab have changed since; take another folder", step)
		}
		j.spent += time.Duration(e.Seconds * 1e9)
		j.resumed++
		return out, json.Unmarshal(e.Value, &out)
	}
	began := time.Now()
	out, err = do(ctx)
	if err != nil {
		return out, err
	}
	value, err := json.Marshal(out)
	if err != nil {
		return out, fmt.Errorf("the step %s: %w", step, err)
	}
	took := time.Since(began)
	j.spent += took
	e := entry{Step: step, Input: sum, At: began.UTC(), Seconds: took.Seconds(), Value: value, Lost: j.begun[step]}
	if err := j.write(e); err != nil {
		return out, err
	}
	delete(j.begun, step)
	j.done[step] = e
	// What a resumed run sees is what this one sees.
	var again T
	return again, json.Unmarshal(value, &again)
}

// paid is once for a step that costs money: it says before that it begins, so
// that a call whose answer was lost is known of afterwards. lost says that this
// happened.
func paid[T any](ctx context.Context, j *journal, step string, input any, do func(context.Context) (T, error)) (out T, lost bool, err error) {
	lost = j.begun[step] || j.done[step].Lost
	if _, ok := j.done[step]; !ok && !lost {
		if err := ctx.Err(); err != nil {
			return out, false, err
		}
		if err := j.write(entry{Step: step, At: time.Now().UTC(), Begin: true}); err != nil {
			return out, false, err
		}
	}
	out, err = once(ctx, j, step, input, do)
	return out, lost, err
}

func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// replaceFile writes a file in one step: it is the old one or the new one.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // after the renaming it is gone
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
