package display

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var current struct {
	sync.RWMutex
	sink     Sink
	fallback Sink // of another kernel, where no session host installed one
}

// SetSink installs where displays go and returns the sink before it; nil puts
// the default back, which writes text to standard output. A sink must be safe
// for concurrent use and must encode what it gets before it returns.
func SetSink(s Sink) (previous Sink) {
	current.Lock()
	defer current.Unlock()
	previous, current.sink = current.sink, s
	return previous
}

// RegisterFallback installs the sink that is used where SetSink has installed
// none: packages that speak to another kernel register theirs here.
func RegisterFallback(s Sink) {
	current.Lock()
	defer current.Unlock()
	current.fallback = s
}

func sink() Sink {
	current.RLock()
	defer current.RUnlock()
	if current.sink != nil {
		return current.sink
	}
	if current.fallback != nil {
		return current.fallback
	}
	return defaultSink
}

// Rich reports whether the front end can show HTML and replace an output, so
// that live displays (progress, losses) can choose between a picture that
// changes and plain lines. A sink says so with a method Rich() bool; a sink
// without one is taken to be rich, the default one is not.
func Rich() bool {
	s := sink()
	if r, ok := s.(interface{ Rich() bool }); ok {
		return r.Rich()
	}
	return true
}

// Show displays each value at once, in the order given.
func Show(vs ...any) {
	for _, v := range vs {
		sink().Display(renderOne(v), "", false)
	}
}

// HTML displays HTML text. It is shown as it is: escape data with Escape.
func HTML(text string) { Show(Of("text/html", text)) }

// Markdown displays Markdown text.
func Markdown(text string) { Show(Of("text/markdown", text)) }

// LaTeX displays LaTeX text; mathematics stands between dollar signs.
func LaTeX(text string) { Show(Of("text/latex", text)) }

// SVG displays an SVG document.
func SVG(text string) { Show(Of("image/svg+xml", text)) }

// PNG displays the bytes of a PNG file.
func PNG(file []byte) { Show(Of("image/png", file)) }

// JPEG displays the bytes of a JPEG file.
func JPEG(file []byte) { Show(Of("image/jpeg", file)) }

// JSON displays any value that encoding/json can encode, as a tree where the
// front end has one.
func JSON(v any) { Show(Of("application/json", v)) }

// Clear removes the outputs of the running cell: at once, or with wait when
// the next output comes, which avoids flicker.
func Clear(wait bool) { sink().Clear(wait) }

// A Handle names an output that can be replaced, also from a later cell. Its
// methods are safe for concurrent use.
type Handle struct{ id string }

var (
	handles atomic.Uint64
	started = time.Now()
)

// Live displays the values and returns a handle on the output.
func Live(vs ...any) *Handle {
	// Front ends keep outputs when the host restarts, so an id must not come
	// again in the next host: process, start time and a count make it new.
	h := &Handle{fmt.Sprintf("rooflab-%d-%s-%d", os.Getpid(), strconv.FormatInt(started.UnixNano(), 36), handles.Add(1))}
	sink().Display(Render(vs...), h.id, false)
	return h
}

// Update replaces the output with the values.
func (h *Handle) Update(vs ...any) { sink().Display(Render(vs...), h.id, true) }

// ID is the protocol's display_id.
func (h *Handle) ID() string { return h.id }

// String names the handle; the output itself stands where Live was called.
func (h *Handle) String() string { return "display " + h.id }

// textSink is the sink of a plain Go program.
type textSink struct {
	sync.Mutex
	last map[string]string
}

var defaultSink = &textSink{last: map[string]string{}}

func (s *textSink) Rich() bool { return false }

func (s *textSink) Display(b Bundle, id string, update bool) {
	text, _ := b.Data["text/plain"].(string)
	s.Lock()
	defer s.Unlock()
	if id != "" {
		if update && s.last[id] == text {
			return
		}
		s.last[id] = text
	}
	fmt.Fprintln(os.Stdout, text)
}

func (s *textSink) Clear(bool) {}
