package repl

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // to tell how large pictures are
	_ "image/jpeg"
	_ "image/png"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/session"
)

// Printer writes a session's events as plain text: streams as they are,
// displays and results by their text/plain form, pictures by their size.
// Its methods may be called from several goroutines.
type Printer struct {
	Out, Err io.Writer
	// Results prefixes results with "Out[n]: ", for people; without it a result
	// is its bare text, for programs.
	Results bool
	// Keep is told of each picture and returns what to add to the line that
	// announces it: where it was written or how to keep it. It must not call the
	// Printer. Nil adds nothing.
	Keep func(n int, pic Picture) string
	// Input answers input requests; nil answers each with an empty line.
	Input func(prompt string, password bool) string

	mu       sync.Mutex
	column   bool // something was printed on the current line of Out
	pictures []Picture
}

// Picture is a picture that a cell displayed.
type Picture struct {
	MIME string
	Data []byte // the file's bytes, not base64
}

// Extension is what a file of this picture's kind ends in, with the dot.
func (pic Picture) Extension() string {
	switch kind := strings.TrimPrefix(pic.MIME, "image/"); kind {
	case "svg+xml":
		return ".svg"
	case "jpeg":
		return ".jpg"
	default:
		return "." + kind
	}
}

// Event prints one event.
func (p *Printer) Event(ev session.Event) {
	if req, ok := ev.(session.InputRequest); ok {
		answer := ""
		if p.Input != nil {
			answer = p.Input(req.Prompt, req.Password)
		}
		req.Answer(answer)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case session.Stream:
		if ev.Name == "stderr" {
			fmt.Fprint(p.Err, ev.Text)
			return
		}
		p.write(ev.Text)
	case session.Display:
		p.bundle(ev.Bundle, "")
	case session.Result:
		prefix := ""
		if p.Results {
			prefix = fmt.Sprintf("Out[%d]: ", ev.Count)
		}
		p.bundle(ev.Bundle, prefix)
	case session.Clear: // a terminal's scroll-back is not ours to erase
	}
}

// Failure prints why a cell failed, on Err.
func (p *Printer) Failure(e *session.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	text := strings.Join(e.Traceback, "\n")
	if text == "" {
		text = e.Error()
	}
	fmt.Fprintln(p.Err, strings.TrimRight(text, "\n"))
}

// EndCell ends a line that a cell left open, so that the next prompt starts on
// a line of its own.
func (p *Printer) EndCell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
}

func (p *Printer) endLine() {
	if p.column {
		p.write("\n")
	}
}

func (p *Printer) write(s string) {
	if s == "" {
		return
	}
	io.WriteString(p.Out, s)
	p.column = !strings.HasSuffix(s, "\n")
}

func (p *Printer) bundle(b display.Bundle, prefix string) {
	p.endLine()
	for _, mime := range slices.Sorted(maps.Keys(b.Data)) {
		if strings.HasPrefix(mime, "image/") {
			p.picture(mime, b.Data[mime])
			return // several forms of one picture: the first will do
		}
	}
	text := plain(b)
	if prefix != "" && strings.Contains(strings.TrimRight(text, "\n"), "\n") {
		prefix += "\n" // aligned text must start at the margin
	}
	p.write(prefix + text)
	p.endLine()
}

// plain is the text form of a bundle.
func plain(b display.Bundle) string {
	for _, mime := range []string{"text/plain", "text/markdown", "text/latex"} {
		if s, ok := b.Data[mime].(string); ok {
			return s
		}
	}
	if v, ok := b.Data["application/json"]; ok {
		if raw, err := json.Marshal(v); err == nil {
			return string(raw)
		}
	}
	mimes := slices.Sorted(maps.Keys(b.Data))
	if len(mimes) == 1 {
		if s, ok := b.Data[mimes[0]].(string); ok {
			return fmt.Sprintf("[%s, %s: a notebook shows it]", mimes[0], size(len(s)))
		}
	}
	return fmt.Sprintf("[%s: a notebook shows it]", strings.Join(mimes, ", "))
}

// picture announces a picture and keeps it for SavePicture.
func (p *Printer) picture(mime string, v any) {
	text, _ := v.(string)
	data := []byte(text)
	if mime != "image/svg+xml" {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			p.write(fmt.Sprintf("[%s that is not base64: %v]\n", mime, err))
			return
		}
		data = raw
	}
	p.pictures = append(p.pictures, Picture{MIME: mime, Data: data})
	n := len(p.pictures)
	line := fmt.Sprintf("[picture %d: %s", n, strings.TrimSuffix(strings.TrimPrefix(mime, "image/"), "+xml"))
	if cfg, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		line += fmt.Sprintf(", %d x %d pixels", cfg.Width, cfg.Height)
	}
	line += ", " + size(len(data))
	if p.Keep != nil {
		line += "; " + p.Keep(n, p.pictures[n-1])
	}
	p.write(line + "]\n")
}

// SavePicture writes picture n (1-based) to path.
func (p *Printer) SavePicture(n int, path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < 1 || n > len(p.pictures) {
		return fmt.Errorf("saving picture %d: there are %d pictures so far", n, len(p.pictures))
	}
	if err := os.WriteFile(path, p.pictures[n-1].Data, 0o644); err != nil {
		return fmt.Errorf("saving picture %d: %w", n, err)
	}
	return nil
}

func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
