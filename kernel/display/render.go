package display

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A Renderer turns a value of a type it knows into a bundle; false means that
// the value is not one of its own. It must not keep or change the value.
type Renderer func(v any) (Bundle, bool)

type namedRenderer struct {
	name   string
	render Renderer
}

var renderers struct {
	sync.RWMutex
	list []namedRenderer
}

// Register adds a renderer for values that cannot carry a method of their own.
// Renderers registered later are asked first; registering a name again
// replaces the earlier renderer, so that a cell can be run twice.
func Register(name string, r Renderer) {
	renderers.Lock()
	defer renderers.Unlock()
	// A fresh slice: Render walks the old one without holding the lock.
	list := []namedRenderer{{name, r}}
	for _, have := range renderers.list {
		if have.name != name {
			list = append(list, have)
		}
	}
	renderers.list = list
}

// Render represents the values of one expression. Several values (a call with
// several results) become one bundle. text/plain is always present. A value
// is represented by the first of these that applies:
//
//   - a Bundle, or a value with the method Display() Bundle;
//   - a registered renderer;
//   - methods in the manner of other Jupyter kernels: MIMEBundle() (data,
//     metadata map[string]any), HTML, SVG, Markdown, LaTeX or Latex() string,
//     PNG, JPEG() []byte, JSON() any, each also with a second result error;
//   - an error's text, a String method;
//   - Format.
//
// A method that panics is reported in the text; Render itself never panics.
func Render(vs ...any) Bundle {
	if len(vs) == 1 {
		return renderOne(vs[0])
	}
	parts := make([]Bundle, len(vs))
	for i, v := range vs {
		parts[i] = renderOne(v)
	}
	return combine(parts)
}

func renderOne(v any) Bundle {
	if v == nil {
		return Of("text/plain", "<nil>")
	}
	b, found, trouble := richest(v)
	if !found {
		b = Bundle{Data: map[string]any{"text/plain": Format(v)}}
	}
	b = normalise(b)
	if _, ok := b.Data["text/plain"]; !ok {
		b.Data["text/plain"] = fallbackText(v, b)
	}
	if trouble != "" {
		b.Data["text/plain"] = fmt.Sprint(b.Data["text/plain"], "\n", trouble)
		delete(b.Data, "text/html") // so that front ends show the text with the trouble
	}
	return b
}

// richest finds v's own or registered representation. trouble says which
// method failed, if one did.
func richest(v any) (b Bundle, found bool, trouble string) {
	switch x := v.(type) {
	case Bundle:
		return x, true, ""
	case *Bundle:
		if x != nil {
			return *x, true, ""
		}
		return Bundle{}, false, ""
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return Bundle{}, false, ""
	}
	if d, ok := methods(v).(Displayer); ok {
		err := guard("Display", func() error { b = d.Display(); return nil })
		if err == nil {
			return b, true, ""
		}
		return Bundle{}, false, err.Error()
	}
	renderers.RLock()
	list := renderers.list
	renderers.RUnlock()
	for _, r := range list {
		err := guard("renderer "+r.name, func() error { b, found = r.render(v); return nil })
		if err != nil {
			return Bundle{}, false, err.Error()
		}
		if found {
			return b, true, ""
		}
	}
	return byMethods(methods(v))
}

// methods returns v in the form that has the most methods: a copy's address
// where methods have pointer receivers, since the cell wrote x, not &x.
func methods(v any) any {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t.Name() == "" {
		return v
	}
	if reflect.PointerTo(t).NumMethod() == t.NumMethod() {
		return v
	}
	p := reflect.New(t)
	p.Elem().Set(reflect.ValueOf(v))
	return p.Interface()
}

// byMethods collects what Jupyter-style methods of x give.
func byMethods(x any) (b Bundle, found bool, trouble string) {
	b = Bundle{Data: map[string]any{}}
	var troubles []string
	try := func(name string, f func() error) {
		if err := guard(name, f); err != nil {
			troubles = append(troubles, err.Error())
		}
	}
	if m, ok := x.(interface {
		MIMEBundle() (data, metadata map[string]any)
	}); ok {
		try("MIMEBundle", func() error {
			data, meta := m.MIMEBundle()
			for k, v := range data {
				b.Data[k] = v
			}
			b.Metadata = meta
			return nil
		})
	}
	text := func(mime, name string, plain func() string, failing func() (string, error)) {
		if plain == nil && failing == nil {
			return
		}
		try(name, func() (err error) {
			var s string
			if plain != nil {
				s = plain()
			} else if s, err = failing(); err != nil {
				return err
			}
			b.Data[mime] = s
			return nil
		})
	}
	switch m := x.(type) {
	case interface{ HTML() string }:
		text("text/html", "HTML", m.HTML, nil)
	case interface{ HTML() (string, error) }:
		text("text/html", "HTML", nil, m.HTML)
	}
	switch m := x.(type) {
	case interface{ SVG() string }:
		text("image/svg+xml", "SVG", m.SVG, nil)
	case interface{ SVG() (string, error) }:
		text("image/svg+xml", "SVG", nil, m.SVG)
	}
	switch m := x.(type) {
	case interface{ Markdown() string }:
		text("text/markdown", "Markdown", m.Markdown, nil)
	case interface{ Markdown() (string, error) }:
		text("text/markdown", "Markdown", nil, m.Markdown)
	}
	switch m := x.(type) {
	case interface{ LaTeX() string }:
		text("text/latex", "LaTeX", m.LaTeX, nil)
	case interface{ Latex() string }:
		text("text/latex", "Latex", m.Latex, nil)
	}
	binary := func(mime, name string, plain func() []byte, failing func() ([]byte, error)) {
		try(name, func() (err error) {
			var data []byte
			if plain != nil {
				data = plain()
			} else if data, err = failing(); err != nil {
				return err
			}
			b.Data[mime] = data
			return nil
		})
	}
	switch m := x.(type) {
	case interface{ PNG() []byte }:
		binary("image/png", "PNG", m.PNG, nil)
	case interface{ PNG() ([]byte, error) }:
		binary("image/png", "PNG", nil, m.PNG)
	}
	switch m := x.(type) {
	case interface{ JPEG() []byte }:
		binary("image/jpeg", "JPEG", m.JPEG, nil)
	case interface{ JPEG() ([]byte, error) }:
		binary("image/jpeg", "JPEG", nil, m.JPEG)
	}
	if m, ok := x.(interface{ JSON() any }); ok {
		try("JSON", func() error { b.Data["application/json"] = m.JSON(); return nil })
	}
	return b, len(b.Data) > 0, strings.Join(troubles, "\n")
}

// guard runs f and turns an error or a panic into an error that names what.
func guard(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("display: %s panicked: %v", what, r)
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("display: %s failed: %w", what, err)
	}
	return nil
}

// Of makes a bundle of one MIME type. Bytes are taken as they are and encoded
// as base64 where the type is binary.
func Of(mime string, data any) Bundle {
	b := normalise(Bundle{Data: map[string]any{mime: data}})
	if _, ok := b.Data["text/plain"]; !ok {
		b.Data["text/plain"] = fallbackText(nil, b)
	}
	return b
}

// normalise copies the map and puts data into the form that Bundle promises.
func normalise(b Bundle) Bundle {
	data := make(map[string]any, len(b.Data)+1)
	for mime, v := range b.Data {
		if raw, ok := v.([]byte); ok {
			if textual(mime) {
				v = string(raw)
			} else {
				v = base64.StdEncoding.EncodeToString(raw)
			}
		}
		if mime != "application/json" && !strings.HasSuffix(mime, "+json") {
			if _, ok := v.(string); !ok && textual(mime) {
				v = fmt.Sprint(v)
			}
		}
		data[mime] = v
	}
	b.Data = data
	return b
}

func textual(mime string) bool {
	return strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+xml") ||
		strings.HasSuffix(mime, "json") || mime == "application/javascript"
}

// fallbackText is what a front end without pictures shows for b.
func fallbackText(v any, b Bundle) string {
	switch x := v.(type) {
	case nil, Bundle, *Bundle:
	case error:
		return errorText(x)
	case fmt.Stringer:
		return stringOf(x)
	}
	for _, mime := range []string{"text/markdown", "text/latex"} {
		if s, ok := b.Data[mime].(string); ok {
			return s
		}
	}
	if s, ok := b.Data["text/html"].(string); ok {
		if text := textOfHTML(s); text != "" {
			return text
		}
		return fmt.Sprintf("HTML, %d bytes", len(s))
	}
	if j, ok := b.Data["application/json"]; ok {
		return Format(j)
	}
	if s, ok := b.Data["image/png"].(string); ok {
		if w, h, err := pngSize(s); err == nil {
			return fmt.Sprintf("PNG image, %d x %d pixels", w, h)
		}
	}
	for mime, data := range b.Data {
		if s, ok := data.(string); ok {
			n := len(s)
			if !textual(mime) {
				n = base64.StdEncoding.DecodedLen(n)
			}
			return fmt.Sprintf("%s, about %d bytes", mime, n)
		}
	}
	if len(b.Data) == 0 {
		return ""
	}
	return "no text for this output"
}

// pngSize reads width and height from the IHDR chunk of base64 text.
func pngSize(s string) (w, h int, err error) {
	if len(s) < 32 {
		return 0, 0, errors.New("short")
	}
	head, err := base64.StdEncoding.DecodeString(s[:32])
	if err != nil {
		return 0, 0, err
	}
	if string(head[1:4]) != "PNG" {
		return 0, 0, errors.New("not a PNG")
	}
	be := func(b []byte) int { return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]) }
	return be(head[16:20]), be(head[20:24]), nil
}
