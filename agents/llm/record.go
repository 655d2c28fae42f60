package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// entry is a line of a record: Begun before an exchange, and Answer or Error
// with Request after it. Spent is that of an Error.
type entry struct {
	Version int      `json:"version"`
	Time    string   `json:"time"`
	Key     string   `json:"key"` // Request.Key
	Model   string   `json:"model"`
	Server  string   `json:"server,omitempty"`
	Begun   *Spent   `json:"begun,omitempty"` // the worst case
	Request *Request `json:"request,omitempty"`
	Answer  *Answer  `json:"answer,omitempty"`
	Error   *Error   `json:"error,omitempty"`
	Spent   *Spent   `json:"spent,omitempty"`
	line    int
}

const recordVersion = 1

// Record is a file of exchanges: JSON by line, the newest last. Each exchange is
// appended in one write and is on the disk before its answer is returned.
type Record struct {
	path  string
	notes []string

	mu     sync.Mutex
	file   *os.File // nil: it is only read
	by     map[string]*kept
	busy   map[string]chan struct{} // requests that are under way
	models []string
	asked  []entry // what was recorded, for misses
}

// kept is what a record has about a request.
type kept struct {
	answer  *Answer
	failure *Error
	before  Spent // what was spent on it; counted once in a process
	begun   *Spent
}

// OpenRecord opens a file of exchanges, or makes it, to read and to append. It
// is this process's alone until it is closed.
func OpenRecord(path string) (*Record, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a record of models: %w", err)
	}
	r, err := func() (*Record, error) {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return nil, fmt.Errorf("opening the record %s: another process is writing it (%w); wait for it, or record into another file", path, err)
		}
		r, whole, err := readRecord(path, f)
		if err != nil {
			return nil, err
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, fmt.Errorf("opening the record %s: %w", path, err)
		}
		if whole < size {
			if err := f.Truncate(whole); err != nil {
				return nil, fmt.Errorf("taking the broken last line off the record %s: %w", path, err)
			}
		}
		return r, nil
	}()
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	r.file = f
	return r, nil
}

// ReadRecord reads a file of exchanges to replay it.
func ReadRecord(path string) (*Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replaying models: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	r, _, err := readRecord(path, f)
	return r, err
}

// readRecord also returns how many bytes of the file are whole lines.
func readRecord(path string, f io.Reader) (*Record, int64, error) {
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the record %s: %w", path, err)
	}
	r := &Record{path: path, by: map[string]*kept{}, busy: map[string]chan struct{}{}}
	whole := bytes.LastIndexByte(raw, '\n') + 1
	if whole < len(raw) {
		r.notes = append(r.notes, fmt.Sprintf("%s: the last line is broken off, as by a process that was killed; that exchange counts as not made", path))
	}
	for i, line := range bytes.Split(raw[:whole], []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: not a line of a record of models: %w", path, i+1, err)
		}
		switch {
		case e.Version != recordVersion:
			return nil, 0, fmt.Errorf("%s:%d: version %d of a record of models; expected %d", path, i+1, e.Version, recordVersion)
		case e.Key == "" || e.Begun == nil && e.Answer == nil && e.Error == nil || e.Begun == nil && e.Request == nil:
			return nil, 0, fmt.Errorf("%s:%d: expected a key with begun, or with request and answer or error", path, i+1)
		}
		e.line = i + 1
		r.learn(e)
	}
	for _, k := range r.by {
		if k.begun != nil {
			k.before.add(*k.begun)
			k.begun = nil
		}
	}
	return r, int64(whole), nil
}

// learn takes a line in.
func (r *Record) learn(e entry) {
	k := r.by[e.Key]
	if k == nil {
		k = &kept{}
		r.by[e.Key] = k
	}
	if e.Begun != nil {
		if k.begun != nil { // a process was killed there, and another after it
			k.before.add(*k.begun)
		}
		k.begun = e.Begun
		return
	}
	k.begun = nil
	r.asked = append(r.asked, e)
	if !slices.Contains(r.models, e.Model) {
		r.models = append(r.models, e.Model)
	}
	if e.Answer != nil {
		kept := *e.Answer
		kept.Recorded = true
		k.answer, k.failure = &kept, nil
		k.before.add(e.Answer.Spent)
		return
	}
	if k.failure = e.Error; e.Error.Kind == interrupted || e.Error.Kind == overBudget {
		k.failure = nil
	}
	if e.Spent != nil {
		k.before.add(*e.Spent)
	}
}

// Models are the names of the models that the record has, in order.
func (r *Record) Models() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.models)
}

// Notes are what a reader of the record should know.
func (r *Record) Notes() []string { return slices.Clone(r.notes) }

// Close lets other processes write the record.
func (r *Record) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// take returns what there is about a request. Until done is called, others who
// take the same request wait, so that it is asked once.
func (r *Record) take(ctx context.Context, key string) (got kept, done func(), err error) {
	for {
		r.mu.Lock()
		other := r.busy[key]
		if other == nil {
			break
		}
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return kept{}, nil, fmt.Errorf("waiting for another request that is the same: %w", ctx.Err())
		case <-other:
		}
	}
	defer r.mu.Unlock()
	mine := make(chan struct{})
	r.busy[key] = mine
	if k := r.by[key]; k != nil {
		got = *k
		k.before = Spent{}
		if k.answer != nil {
			copied := *k.answer
			copied.Notes = slices.Clone(copied.Notes)
			got.answer = &copied
		}
	}
	return got, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.busy, key)
		close(mine)
	}, nil
}

// append writes a line in one piece and to the disk. A nil Record takes none.
func (r *Record) append(e entry, key string) error {
	if r == nil {
		return nil
	}
	e.Version, e.Time = recordVersion, time.Now().UTC().Format(time.RFC3339Nano)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a key has no other character that JSON writes in another way
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("recording into %s: %w", r.path, err)
	}
	line := []byte(scrub(b.String(), key))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return fmt.Errorf("recording into %s: it was closed", r.path)
	}
	start, err := r.file.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = r.file.Write(line); err == nil {
			err = r.file.Sync()
		}
	}
	if err != nil {
		_ = r.file.Truncate(start) // of half a line nothing is of use
		return fmt.Errorf("recording into %s: %w; this exchange will be made again", r.path, err)
	}
	r.learn(e)
	r.by[e.Key].before = Spent{} // this process has counted it
	return nil
}

// MissError says that a record has no answer to a request.
type MissError struct {
	Record  string
	Model   string
	Key     string // Request.Key
	Request Request
	Nearest string // what differs from the most similar request of the record, in words; "" where it has none
}

func (e *MissError) Error() string {
	text := fmt.Sprintf("replaying %s from %s: it has no answer to the request %.12s, which begins with %q", e.Model, e.Record, e.Key, clip(e.Request.User, 80))
	if e.Nearest != "" {
		text += "; " + e.Nearest
	}
	return text + ". Record it with the model itself, or replay what was recorded"
}

// miss finds out what is different from what was recorded.
func (r *Record) miss(model, key string, q Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &MissError{Record: r.path, Model: model, Key: key, Request: q}
	best, most := entry{}, -1
	for _, a := range r.asked {
		if a.Model != model {
			continue
		}
		if n := common(a.Request.System, q.System) + common(a.Request.User, q.User); n > most {
			best, most = a, n
		}
	}
	if most < 0 {
		if len(r.models) > 0 {
			e.Nearest = "it holds answers of " + strings.Join(r.models, ", ")
		}
		return e
	}
	e.Nearest = fmt.Sprintf("the most similar request is at line %d", best.line)
	if best.line == 0 {
		e.Nearest = "the most similar request is one of this run"
	}
	e.Nearest += " and differs in " + strings.Join(differences(*best.Request, q), ", ")
	return e
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// differences tells how a request differs from one that was recorded.
func differences(was, is Request) []string {
	var out []string
	text := func(what, was, is string) {
		if was == is {
			return
		}
		at := common(was, is)
		line := 1 + strings.Count(is[:at], "\n")
		start := strings.LastIndexByte(is[:at], '\n') + 1
		rest := func(s string) string {
			first, _, _ := strings.Cut(s[start:], "\n")
			return clip(first, 80)
		}
		out = append(out, fmt.Sprintf("the %s text from line %d on (%q was recorded, %q is asked)", what, line, rest(was), rest(is)))
	}
	text("system", was.System, is.System)
	text("user", was.User, is.User)
	value := func(what string, was, is any) {
		if a, b := show(was), show(is); a != b {
			out = append(out, fmt.Sprintf("%s (%s was recorded, %s is asked)", what, a, b))
		}
	}
	value("max tokens", was.MaxTokens, is.MaxTokens)
	value("temperature", was.Temperature, is.Temperature)
	value("seed", was.Seed, is.Seed)
	value("sample", was.Sample, is.Sample)
	return out
}

func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil || string(raw) == "null" {
		return "none"
	}
	return string(raw)
}
