package jupyter

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rooflab/rooflab/kernel/session"
)

// maxHistory is how many cells of earlier sessions are remembered.
const maxHistory = 20000

// entry is one cell that ran.
type entry struct {
	Session int    `json:"session"`
	Line    int    `json:"line"`
	Input   string `json:"input,omitempty"`
	Output  string `json:"output,omitempty"` // text of the result, if any
}

// History remembers the cells of this session and, with a file, of earlier
// ones. The file has one JSON object a line; a line without input marks that a
// session took its number.
type History struct {
	mu      sync.Mutex
	path    string
	session int
	entries []entry
}

// OpenHistory reads the history file, which need not exist, and takes the next
// session number. With an empty path the history lives in memory only.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path, session: 1}
	if path == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	// Two kernels that start together must not take the same number.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("history: locking %s: %w", path, err)
	}
	entries, last, lines, err := readHistory(f)
	if err != nil {
		return nil, fmt.Errorf("history: reading %s: %w", path, err)
	}
	h.entries, h.session = entries, last+1
	if lines > 2*maxHistory {
		if err := rewrite(f, h.entries); err != nil {
			return nil, fmt.Errorf("history: shortening %s: %w", path, err)
		}
	}
	return h, appendEntry(f, entry{Session: h.session})
}

// readHistory reads all lines; one that cannot be read (a kernel was killed
// while writing it) is passed over.
func readHistory(r io.Reader) (entries []entry, last, lines int, err error) {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, last, lines, nil
		}
		if err != nil {
			return nil, 0, 0, err
		}
		lines++
		var e entry
		if json.Unmarshal(line, &e) != nil || e.Session < 1 {
			continue
		}
		last = max(last, e.Session)
		if e.Input == "" {
			continue
		}
		entries = append(entries, e)
		if len(entries) > maxHistory {
			entries = entries[1:]
		}
	}
}

func rewrite(f *os.File, entries []entry) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	for _, e := range entries {
		if err := appendEntry(f, e); err != nil {
			return err
		}
	}
	return nil
}

func appendEntry(w io.Writer, e entry) error {
	line, err := marshal(e)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Add remembers a cell. The cell is remembered even when the file cannot be
// written, which the error then says.
func (h *History) Add(line int, input, output string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := entry{Session: h.session, Line: line, Input: input, Output: output}
	h.entries = append(h.entries, e)
	if h.path == "" || input == "" {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return errors.Join(appendEntry(f, e), f.Close())
}

// historyRequest is the content of history_request.
type historyRequest struct {
	Output  bool   `json:"output"`
	Access  string `json:"hist_access_type"` // "tail", "range" or "search"
	Session int    `json:"session"`          // range: 0 is this one, negative counts back from it
	Start   int    `json:"start"`
	Stop    *int   `json:"stop"` // exclusive
	N       *int   `json:"n"`
	Pattern string `json:"pattern"`
	Unique  bool   `json:"unique"`
}

// find answers a history request, oldest cell first.
func (h *History) find(q historyRequest) ([]entry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []entry
	switch q.Access {
	case "tail":
		found = h.entries
	case "range":
		number := q.Session
		if number <= 0 {
			number += h.session
		}
		for _, e := range h.entries {
			if e.Session == number && e.Line >= q.Start && (q.Stop == nil || e.Line < *q.Stop) {
				found = append(found, e)
			}
		}
		return found, nil
	case "search":
		pattern := q.Pattern
		if pattern == "" {
			pattern = "*"
		}
		for _, e := range h.entries {
			if glob(pattern, e.Input) {
				found = append(found, e)
			}
		}
		if q.Unique {
			found = latestOfEach(found)
		}
	default:
		return nil, fmt.Errorf("hist_access_type %q: want tail, range or search", q.Access)
	}
	if q.N != nil {
		found = found[max(0, len(found)-max(0, *q.N)):]
	}
	return found, nil
}

// latestOfEach keeps the last entry of each input.
func latestOfEach(entries []entry) []entry {
	last := map[string]int{}
	for i, e := range entries {
		last[e.Input] = i
	}
	var kept []entry
	for i, e := range entries {
		if last[e.Input] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// rows gives the entries in the protocol's form: (session, line, input) or
// (session, line, (input, output)).
func rows(entries []entry, output bool) [][3]any {
	out := make([][3]any, 0, len(entries))
	for _, e := range entries {
		row := [3]any{e.Session, e.Line, e.Input}
		if output {
			var text any
			if e.Output != "" {
				text = e.Output
			}
			row[2] = [2]any{e.Input, text}
		}
		out = append(out, row)
	}
	return out
}

// plain is the text of a result, as history keeps it.
func plain(r session.Result) string {
	text, _ := r.Bundle.Data["text/plain"].(string)
	return text
}
