package jupyter

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/session"
)

const (
	// streamDelay is how long a piece of stream text may wait for more. Cells
	// print line by line; one message a line drowns a browser.
	streamDelay = 20 * time.Millisecond
	// streamSize is the text after which a stream message goes out at once.
	streamSize = 64 << 10
	// outputBacklog is how many bytes may wait for a slow client before the
	// cell that prints them waits too.
	outputBacklog = 64 << 20
)

// outlet publishes what one cell sends, in order. Text written in small pieces
// is joined, but never across anything else that the cell sends.
type outlet struct {
	s      *Server
	parent json.RawMessage
	silent bool
	ask    func(session.InputRequest) // nil: nobody can be asked

	mu     sync.Mutex
	name   string            // stream of text
	text   []byte            // waits to be published
	cut    map[string][]byte // per stream, the first bytes of a rune whose rest is to come
	timer  *time.Timer
	result string // text of the last result
}

func (s *Server) newOutlet(parent json.RawMessage, silent bool) *outlet {
	return &outlet{s: s, parent: parent, silent: silent, cut: map[string][]byte{}}
}

// emit publishes one event. It waits while clients are far behind.
func (o *outlet) emit(e session.Event) {
	if in, ok := e.(session.InputRequest); ok {
		o.flush()
		o.input(in)
		return
	}
	if o.silent {
		return
	}
	o.s.iopub.Throttle(o.s.ctx, outputBacklog)
	o.mu.Lock()
	defer o.mu.Unlock()
	if w, ok := e.(session.Stream); ok {
		o.write(w)
		return
	}
	o.flushText()
	switch e := e.(type) {
	case session.Display:
		o.display(e)
	case session.Clear:
		o.publish("clear_output", map[string]any{"wait": e.Wait})
	case session.Result:
		o.result = plain(e)
		data, meta := bundle(e.Bundle)
		o.publish("execute_result", map[string]any{"execution_count": e.Count, "data": data, "metadata": meta})
	default:
		o.s.logf("jupyter: the session sent an event of type %T, which the front does not know", e)
	}
}

func (o *outlet) display(d session.Display) {
	data, meta := bundle(d.Bundle)
	transient := map[string]any{}
	if d.ID != "" {
		transient["display_id"] = d.ID
	}
	kind := "display_data"
	if d.Update {
		kind = "update_display_data"
	}
	o.publish(kind, map[string]any{"data": data, "metadata": meta, "transient": transient})
}

// input passes a question on, or answers it with an empty line when nobody can
// be asked, saying so.
func (o *outlet) input(in session.InputRequest) {
	if o.ask != nil {
		o.ask(in)
		return
	}
	o.emit(session.Stream{Name: "stderr", Text: "input: this front end does not answer questions (allow_stdin is false); the cell gets an empty line\n"})
	go in.Answer("") // the session may not be listening before emit returns
}

// write adds stream text; the caller holds mu.
func (o *outlet) write(w session.Stream) {
	if w.Name != o.name {
		o.flushText()
		o.name = w.Name
	}
	text := append(o.cut[w.Name], w.Text...)
	n := len(text) - cutRune(text)
	o.cut[w.Name] = append([]byte(nil), text[n:]...)
	o.text = append(o.text, text[:n]...)
	switch {
	case len(o.text) >= streamSize:
		o.flushText()
	case len(o.text) > 0 && o.timer == nil:
		o.timer = time.AfterFunc(streamDelay, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.flushText()
		})
	}
}

// flushText publishes the text that waits; the caller holds mu.
func (o *outlet) flushText() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	if len(o.text) > 0 {
		o.publish("stream", map[string]any{"name": o.name, "text": string(o.text)})
		o.text = nil
	}
}

// flush publishes all text that waits.
func (o *outlet) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushText()
}

// finish publishes what is left at the end of the cell, cut runes too.
func (o *outlet) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushText()
	for _, name := range []string{"stdout", "stderr"} {
		if len(o.cut[name]) > 0 {
			o.name, o.text = name, o.cut[name]
			o.flushText()
			delete(o.cut, name)
		}
	}
}

func (o *outlet) publish(msgType string, content any) {
	if !o.silent {
		o.s.publish(msgType, o.parent, content)
	}
}

// cutRune is the number of bytes at the end of b that begin a rune whose rest
// is missing.
func cutRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// bundle gives the data and metadata of b, never null.
func bundle(b display.Bundle) (data, metadata map[string]any) {
	data, metadata = b.Data, b.Metadata
	if data == nil {
		data = map[string]any{}
	}
	if metadata == nil {
		metadata = map[string]any{}
	}
	return data, metadata
}
