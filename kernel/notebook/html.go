package notebook

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
)

//go:embed page.html
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// The representations that HTML picks from a bundle, the best first.
var preference = []string{
	"text/html", "image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp",
	"text/markdown", "text/latex", "application/json", "text/plain",
}

var pictures = map[string]bool{
	"image/svg+xml": true, "image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true,
}

// HTML writes the notebook as one page that needs no other file, no network
// and no script of its own, and follows the reader's light or dark setting.
// Sources, streams and errors are escaped; markdown is stripped of what could
// run; text/html outputs go in as the cells made them (they are the author's
// markup, tables and widgets), and pictures become data URLs. title is used
// where the notebook has no heading of its own.
func HTML(w io.Writer, nb *Notebook, title string) error {
	if t := nb.Title(); t != "" {
		title = t
	}
	data := struct {
		Title string
		Cells []pageCell
	}{Title: title}
	for i, c := range nb.Cells {
		pc, err := renderCell(c)
		if err != nil {
			return fmt.Errorf("exporting cell %d: %w", i+1, err)
		}
		data.Cells = append(data.Cells, pc)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return fmt.Errorf("exporting HTML: %w", err)
	}
	// The page says that it is UTF-8, whatever bytes a cell printed.
	if _, err := w.Write(bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd"))); err != nil {
		return fmt.Errorf("exporting HTML: %w", err)
	}
	return nil
}

// pageCell and pageOutput are what page.html lays out.
type pageCell struct {
	ID, Kind string
	Count    string
	Body     template.HTML
	Outputs  []pageOutput
}

type pageOutput struct {
	Class string // stdout, stderr, error, result, display
	Count string
	Pre   template.HTML // preformatted text, or
	Body  template.HTML // markup, or
	Image template.URL  // a picture with
	Alt   string
}

func renderCell(c *Cell) (pageCell, error) {
	pc := pageCell{ID: c.ID, Kind: c.Type}
	switch c.Type {
	case Markdown:
		attachments, _ := c.Extra["attachments"].(map[string]any)
		body, err := markdown(c.Source, attachments)
		pc.Body = body
		return pc, err
	case Raw:
		pc.Body = template.HTML(template.HTMLEscapeString(c.Source))
		return pc, nil
	}
	pc.Body = highlight(c.Source)
	pc.Count = countText(c.Count)
	for _, o := range c.Outputs {
		po, err := renderOutput(o)
		if err != nil {
			return pc, err
		}
		pc.Outputs = append(pc.Outputs, po)
	}
	return pc, nil
}

func countText(n int) string {
	if n == 0 {
		return " "
	}
	return fmt.Sprint(n)
}

func renderOutput(o *Output) (pageOutput, error) {
	switch o.Type {
	case StreamOutput:
		return pageOutput{Class: o.Name, Pre: ansiHTML(o.Text)}, nil
	case ErrorOutput:
		text := strings.Join(o.Traceback, "\n")
		if text == "" {
			text = o.EName + ": " + o.EValue
		}
		return pageOutput{Class: "error", Pre: ansiHTML(text)}, nil
	}
	po := pageOutput{Class: "display"}
	if o.Type == ResultOutput {
		po.Class, po.Count = "result", countText(o.Count)
	}
	return po, po.fill(o.Bundle)
}

// fill chooses the richest representation that a page can show.
func (po *pageOutput) fill(b display.Bundle) error {
	for _, mime := range preference {
		v, ok := b.Data[mime]
		if !ok {
			continue
		}
		text := asText(v)
		switch {
		case mime == "text/html":
			po.Body = template.HTML(text)
		case pictures[mime]:
			po.Image = template.URL(pictureURL(mime, text))
			po.Alt = asText(b.Data["text/plain"])
		case mime == "text/markdown":
			body, err := markdown(text, nil)
			if err != nil {
				return err
			}
			po.Body = body
		case mime == "application/json":
			var indented strings.Builder
			enc := json.NewEncoder(&indented)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(v); err != nil {
				return fmt.Errorf("application/json output: %w", err)
			}
			po.Pre = template.HTML(template.HTMLEscapeString(indented.String()))
		default:
			po.Pre = ansiHTML(text)
		}
		return nil
	}
	po.Pre = "(an output in a form that this page cannot show)"
	return nil
}

// pictureURL is a data URL; SVG is text in a bundle, the others base64.
func pictureURL(mime, text string) string {
	if mime == "image/svg+xml" {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return "data:" + mime + ";base64," + strings.Join(strings.Fields(text), "")
}
