package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Env names the file of the history; "off" is none.
const Env = "ROOFLAB_HISTORY"

// version is that of the lines.
const version = 1

const (
	maxRead = 64 << 20 // bytes: what is older is left out
	maxLine = 1 << 20
)

// Path is the file of the user's history: what ROOFLAB_HISTORY names, or
// rooflab/history.jsonl below XDG_DATA_HOME (by default ~/.local/share). "" is
// none: the variable says off.
func Path() (string, error) {
	if p := os.Getenv(Env); p == "off" {
		return "", nil
	} else if p != "" {
		return p, nil
	}
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the history of optimizations: %w; name its file in %s, or say off there", err, Env)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "rooflab", "history.jsonl"), nil
}

// Store is a file of the history. Any number of processes may use it at once.
type Store struct{ Path string }

// User is the user's history, nil where the variable says off.
func User() (*Store, error) {
	path, err := Path()
	if err != nil || path == "" {
		return nil, err
	}
	return &Store{path}, nil
}

// Log is what a file holds, in its order.
type Log struct {
	Attempts []Attempt
	Ends     []End
	Notes    []string // what could not be read, or was left out
}

// line is one.
type line struct {
	ID      string   `json:"id"`
	Version int      `json:"v"`
	Attempt *Attempt `json:"attempt,omitempty"`
	End     *End     `json:"end,omitempty"`
}

// Add appends attempts and ends that the file does not hold yet, and makes it and
// its folder where there is none. They are on disk when it returns; written is how
// many were new.
func (s Store) Add(ctx context.Context, attempts []Attempt, ends []End) (written int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the history %s: %w; %s names another file, or says off", s.Path, err, Env)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(s.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := lock(ctx, f, syscall.LOCK_EX); err != nil {
		return 0, err
	}
	known, whole, err := ids(f)
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	if !whole {
		b.WriteByte('\n') // what a process that was ended left stays a damaged line
	}
	put := func(l line) error {
		if l.ID == "" {
			return errors.New("an entry has no id")
		}
		if known[l.ID] {
			return nil
		}
		data, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("the entry %s: %w", l.ID, err)
		}
		if len(data) >= maxLine {
			return fmt.Errorf("the entry %s has %d bytes: at most %d are kept", l.ID, len(data), maxLine)
		}
		known[l.ID] = true
		written++
		b.Write(append(data, '\n'))
		return nil
	}
	for _, a := range attempts {
		a = a.withhold()
		if err := put(line{ID: a.ID, Version: version, Attempt: &a}); err != nil {
			return 0, err
		}
	}
	for _, e := range ends {
		if err := put(line{ID: e.ID, Version: version, End: &e}); err != nil {
			return 0, err
		}
	}
	if written == 0 {
		return 0, nil
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return written, f.Sync()
}

// Read reads the file; none is an empty Log.
func (s Store) Read(ctx context.Context) (log *Log, err error) {
	log = &Log{}
	f, err := os.Open(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	defer f.Close()
	if err := lock(ctx, f, syscall.LOCK_SH); err != nil {
		return nil, fmt.Errorf("reading the history %s: %w", s.Path, err)
	}
	damaged, first, newer := 0, 0, 0
	seen := map[string]bool{}
	cut, err := each(f, func(n int, text []byte) {
		var l line
		err := json.Unmarshal(text, &l)
		switch {
		case err == nil && l.Version > version:
			newer++
		case err != nil || l.Version < 1 || l.ID == "" || (l.Attempt == nil) == (l.End == nil) || l.Attempt != nil && !l.Attempt.sound() || l.End != nil && !l.End.sound():
			if damaged == 0 {
				first = n
			}
			damaged++
		case seen[l.ID]:
		case l.Attempt != nil:
			seen[l.ID] = true
			log.Attempts = append(log.Attempts, *l.Attempt)
		default:
			seen[l.ID] = true
			log.Ends = append(log.Ends, *l.End)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the history %s: %w", s.Path, err)
	}
	if damaged > 0 {
		log.Notes = append(log.Notes, fmt.Sprintf("history %s: %d damaged lines are left out, the first is line %d of what was read (a process was ended while it wrote, or the file was changed)", s.Path, damaged, first))
	}
	if newer > 0 {
		log.Notes = append(log.Notes, fmt.Sprintf("history %s: %d lines are of a newer rooflab and are left out", s.Path, newer))
	}
	if cut > 0 {
		log.Notes = append(log.Notes, fmt.Sprintf("history %s: only the last %d MiB are read; %d bytes before them are left out", s.Path, maxRead>>20, cut))
	}
	return log, nil
}

// lock waits for the file.
func lock(ctx context.Context, f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process holds it: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ids are those of the entries, and whether the file ends with a whole line.
func ids(f *os.File) (known map[string]bool, whole bool, err error) {
	known = map[string]bool{}
	_, err = each(f, func(_ int, text []byte) {
		var head struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(text, &head) == nil && head.ID != "" {
			known[head.ID] = true
		}
	})
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return known, true, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return known, last[0] == '\n', err
}

// each visits the lines of the last maxRead bytes, with their numbers in these
// from 1. A line that is too long is visited as its beginning, which is no JSON.
// cut is how many bytes were left out before.
func each(f *os.File, visit func(n int, text []byte)) (cut int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("it is no file")
	}
	if cut = max(0, info.Size()-maxRead); cut > 0 {
		cut-- // so that a line which begins just there is whole
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, cut, info.Size()-cut), 64<<10)
	var text []byte
	for n, begun := 1, cut == 0; ; {
		part, err := r.ReadSlice('\n')
		if len(text) < maxLine {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return cut, err
		}
		if t := strings.TrimSpace(string(text)); begun && t != "" {
			visit(n, []byte(t))
			n++
		}
		if last {
			return cut, nil
		}
		begun, text = true, text[:0]
	}
}
