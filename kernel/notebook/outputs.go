package notebook

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rooflab/rooflab/kernel/session"
)

// recorder turns a session's events into the outputs that JupyterLab would
// store: neighbouring text of one stream is one output, carriage returns and
// backspaces act on it, clear_output empties the cell, and an update of a named
// display replaces it in whichever cell it stands.
type recorder struct {
	mu           sync.Mutex
	cell         *Cell
	clearPending bool
	printed      int                  // bytes of text in the cell's streams
	dropped      int                  // bytes beyond maxPrinted
	named        map[string][]*Output // by display id, over the whole notebook
}

func newRecorder() *recorder { return &recorder{named: map[string][]*Output{}} }

// begin makes c the cell that outputs go to and drops its old ones.
func (r *recorder) begin(c *Cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cell, r.clearPending, r.printed, r.dropped = c, false, 0, 0
	c.Outputs, c.Count = nil, 0
}

// record takes one event.
func (r *recorder) record(ev session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cell == nil {
		return // before the first cell: there is nowhere to put it
	}
	switch ev := ev.(type) {
	case session.Stream:
		r.stream(ev)
	case session.Display:
		if ev.Update {
			for _, o := range r.named[ev.ID] {
				o.Bundle = ev.Bundle
			}
			return
		}
		o := &Output{Type: DisplayOutput, Bundle: ev.Bundle}
		if ev.ID != "" {
			r.named[ev.ID] = append(r.named[ev.ID], o)
		}
		r.add(o)
	case session.Result:
		r.add(&Output{Type: ResultOutput, Bundle: ev.Bundle, Count: ev.Count})
	case session.Clear:
		if ev.Wait {
			r.clearPending = true
		} else {
			r.cell.Outputs, r.printed = nil, 0
		}
	case session.InputRequest:
		// Run never allows stdin; a session that asks all the same gets an end of
		// input instead of a hang.
		ev.Answer("")
	}
}

func (r *recorder) fail(e *session.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(&Output{Type: ErrorOutput, EName: e.Name, EValue: e.Value, Traceback: e.Traceback})
}

func (r *recorder) add(o *Output) {
	if r.clearPending {
		r.clearPending, r.cell.Outputs, r.printed = false, nil, 0
	}
	r.cell.Outputs = append(r.cell.Outputs, o)
}

func (r *recorder) stream(ev session.Stream) {
	if ev.Text == "" {
		return
	}
	if r.printed > maxPrinted && !r.clearPending {
		r.dropped += len(ev.Text)
		return
	}
	if n := len(r.cell.Outputs); n > 0 && !r.clearPending {
		if last := r.cell.Outputs[n-1]; last.Type == StreamOutput && last.Name == ev.Name {
			r.printed -= len(last.Text)
			last.Text = terminalText(last.Text, ev.Text)
			r.printed += len(last.Text)
			return
		}
	}
	o := &Output{Type: StreamOutput, Name: ev.Name, Text: terminalText("", ev.Text)}
	r.add(o)
	r.printed += len(o.Text)
}

// maxPrinted bounds what is kept of a cell's text, in bytes: a loop that prints
// without end must not fill the memory, and no front end shows as much.
const maxPrinted = 8 << 20

// end says what was left out of the cell's text.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped > 0 {
		r.add(&Output{Type: StreamOutput, Name: "stderr",
			Text: fmt.Sprintf("rooflab: %d more bytes were printed and are not kept\n", r.dropped)})
	}
}

// terminalText appends more to text and applies carriage returns and
// backspaces as a terminal would, so that a progress bar leaves its last state
// and not all of them. A trailing lone '\r' is kept: the text that overwrites
// the line may still come.
func terminalText(text, more string) string {
	if !strings.ContainsAny(more, "\r\b") && !strings.HasSuffix(text, "\r") {
		return text + more
	}
	nl := strings.LastIndexByte(text, '\n') + 1
	var out strings.Builder
	out.WriteString(text[:nl])
	for line := range strings.Lines(text[nl:] + more) {
		body, end := line, ""
		if strings.HasSuffix(line, "\n") {
			body, end = strings.TrimSuffix(line[:len(line)-1], "\r"), "\n"
		}
		out.WriteString(overwrite(body, end == ""))
		out.WriteString(end)
	}
	return out.String()
}

// overwrite plays one line: '\r' goes to its start, '\b' one back, anything
// else replaces what stands there.
func overwrite(line string, open bool) string {
	keep := ""
	if open && strings.HasSuffix(line, "\r") {
		line, keep = line[:len(line)-1], "\r"
	}
	var cells []rune
	pos := 0
	for _, r := range line {
		switch {
		case r == '\r':
			pos = 0
		case r == '\b':
			pos = max(pos-1, 0)
		case pos < len(cells):
			cells[pos] = r
			pos++
		default:
			cells = append(cells, r)
			pos++
		}
	}
	return string(cells) + keep
}
