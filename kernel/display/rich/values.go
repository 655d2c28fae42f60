package rich

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"reflect"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/rooflab/rooflab/kernel/display"
)

// matrixBundle shows gonum matrices and vectors as aligned text; of large ones
// the corners.
func matrixBundle(v any) (display.Bundle, bool) {
	m, ok := v.(mat.Matrix)
	if !ok || v == nil {
		return display.Bundle{}, false
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return display.Bundle{}, false
	}
	rows, cols := m.Dims()
	head := fmt.Sprintf("%s, %d x %d", strings.TrimPrefix(fmt.Sprintf("%T", v), "*"), rows, cols)
	if rows == 0 || cols == 0 {
		return display.Of("text/plain", head+" (empty)"), true
	}
	opts := []mat.FormatOption{mat.Squeeze()}
	if rows > 20 || cols > 12 {
		opts = append(opts, mat.Excerpt(5))
		// Excerpt writes its own line with the dimensions.
		return display.Of("text/plain", fmt.Sprintf("%s\n%.6g", head, mat.Formatted(m, opts...))), true
	}
	return display.Of("text/plain", fmt.Sprintf("%s\n%.6g", head, mat.Formatted(m, opts...))), true
}

const tensorBytes = 1 << 20 // larger tensors may sit on a device: show the shape only

// tensorBundle shows shape, type and (of a small tensor) values, cut.
func tensorBundle(v any) (display.Bundle, bool) {
	t, ok := v.(*tensors.Tensor)
	if !ok || t == nil {
		return display.Bundle{}, false
	}
	if err := t.CheckValid(); err != nil {
		return display.Of("text/plain", "tensor without values: "+err.Error()), true
	}
	head := fmt.Sprintf("tensor %s, %s, %s", t.Shape(), count(t.Size(), "value"), count(int(t.ByteSize()), "byte"))
	if t.ByteSize() > tensorBytes {
		return display.Of("text/plain", head+" (large: values are not copied from the backend to be shown)"), true
	}
	value, err := t.ValueSafe()
	if err != nil {
		return display.Of("text/plain", head+"\n"+err.Error()), true
	}
	return display.Of("text/plain", head+"\n"+display.Format(value)), true
}

// imageBundle shows any image as PNG.
func imageBundle(v any) (display.Bundle, bool) {
	img, ok := v.(image.Image)
	if !ok {
		return display.Bundle{}, false
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return display.Bundle{}, false
	}
	size := img.Bounds().Size()
	text := fmt.Sprintf("%T, %d x %d pixels", v, size.X, size.Y)
	if size.X <= 0 || size.Y <= 0 {
		return display.Of("text/plain", text+" (empty)"), true
	}
	// An infinite image (image.Uniform) or one past what browsers show.
	if size.X > 16384 || size.Y > 16384 {
		return display.Of("text/plain", text+" (too large to show: take a part with SubImage, or scale it)"), true
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return display.Of("text/plain", text+": "+err.Error()), true
	}
	return display.Bundle{Data: map[string]any{"text/plain": text, "image/png": out.Bytes()}}, true
}

// errorBundle shows an error and what it wraps.
func errorBundle(v any) (display.Bundle, bool) {
	err, ok := v.(error)
	if !ok {
		return display.Bundle{}, false
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return display.Bundle{}, false
	}
	var html strings.Builder
	html.WriteString(`<div style="border-left:3px solid #d55e00;padding-left:.6em;color:inherit">` +
		`<pre style="margin:0;color:inherit;background:transparent;white-space:pre-wrap">` + display.Escape(err.Error()) + `</pre>` +
		`<div style="opacity:.75;font-size:85%">`)
	var chain []string
	for e := err; e != nil && len(chain) < 8; e = errors.Unwrap(e) {
		chain = append(chain, display.Escape(fmt.Sprintf("%T", e)))
	}
	html.WriteString(strings.Join(chain, " &larr; ") + `</div></div>`)
	return display.Bundle{Data: map[string]any{"text/plain": err.Error(), "text/html": html.String()}}, true
}
