package display

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of Format. They keep an output readable and a million elements fast.
const (
	lineWidth   = 100   // columns before a composite is spread over lines
	maxElements = 100   // longer lists are cut to headElements and tailElements
	headElems   = 50    //
	tailElems   = 10    //
	maxText     = 20000 // bytes of one value's text
	maxString   = 10000 // bytes of one string inside
	maxDepth    = 12    // composites inside composites
	maxSorted   = 200000
)

// Format is v as text: what fmt prints with %+v, but made for reading:
// pointers are followed instead of printed as addresses, text that is too wide
// is spread over lines, []byte is quoted or in hexadecimal, and long lists,
// maps and strings are cut, saying how much is left out. Format never panics.
func Format(v any) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%T (cannot be formatted: %v)", v, r)
		}
	}()
	if v == nil {
		return "<nil>"
	}
	f := &formatter{left: maxText}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.String && own(rv) == nil {
		return cutString(rv.String(), maxText)
	}
	return f.value(rv, 0)
}

// formatter holds what is left of the text budget and the pointers above.
type formatter struct {
	left int
	path []visit
}

type visit struct {
	ptr uintptr
	typ reflect.Type
}

// own returns the value's own text method, if it may be called.
func own(v reflect.Value) func() string {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface || v.Kind() == reflect.Map || v.Kind() == reflect.Func) && v.IsNil() {
		return nil
	}
	switch x := v.Interface().(type) {
	case error:
		return func() string { return errorText(x) }
	case fmt.Formatter:
		return func() string { return fmt.Sprintf("%v", x) }
	case fmt.Stringer:
		return func() string { return stringOf(x) }
	}
	if v.Kind() != reflect.Pointer && v.Type().Name() != "" {
		// A String method with a pointer receiver, for a cell that wrote x.
		if x, ok := methods(v.Interface()).(fmt.Stringer); ok {
			return func() string { return stringOf(x) }
		}
	}
	return nil
}

func errorText(e error) string {
	text := "<nil>"
	if err := guard("Error", func() error { text = e.Error(); return nil }); err != nil {
		return err.Error()
	}
	return text
}

func stringOf(s fmt.Stringer) string {
	text := ""
	if err := guard("String", func() error { text = s.String(); return nil }); err != nil {
		return err.Error()
	}
	return text
}

// spend takes s from the budget and cuts it where the budget ends.
func (f *formatter) spend(s string) string {
	if len(s) > f.left {
		s = cutString(s, max(f.left, 0))
		f.left = 0
		return s
	}
	f.left -= len(s)
	return s
}

// value formats v; indent is the column at which continued lines start.
func (f *formatter) value(v reflect.Value, depth int) string {
	if f.left <= 0 {
		return "..."
	}
	if text := own(v); text != nil {
		return f.spend(cutString(text(), maxText))
	}
	if depth > maxDepth {
		return f.spend("... (deeper than " + strconv.Itoa(maxDepth) + ")")
	}
	switch v.Kind() {
	case reflect.Invalid:
		return f.spend("<nil>")
	case reflect.String:
		return f.spend(cutString(v.String(), maxString))
	case reflect.Interface:
		if v.IsNil() {
			return f.spend("<nil>")
		}
		return f.value(v.Elem(), depth)
	case reflect.Pointer:
		return f.pointer(v, depth)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			return f.spend(bytesText(v.Bytes()))
		}
		if v.Kind() == reflect.Slice {
			return f.cyclic(v, func() string { return f.list(v, depth) })
		}
		return f.list(v, depth)
	case reflect.Map:
		return f.cyclic(v, func() string { return f.mapping(v, depth) })
	case reflect.Struct:
		t := v.Type()
		items := make([]string, t.NumField())
		for i := range items {
			items[i] = f.spend(t.Field(i).Name+":") + f.value(v.Field(i), depth+1)
		}
		return layout("{", items, "}", true)
	case reflect.Func, reflect.UnsafePointer:
		if v.IsNil() {
			return f.spend("<nil>")
		}
		return f.spend(v.Type().String())
	case reflect.Chan:
		if v.IsNil() {
			return f.spend("<nil>")
		}
		return f.spend(fmt.Sprintf("%s (%d of %d queued)", v.Type(), v.Len(), v.Cap()))
	}
	return f.spend(fmt.Sprintf("%v", v)) // numbers and booleans; fmt reads unexported ones too
}

func (f *formatter) pointer(v reflect.Value, depth int) string {
	if v.IsNil() {
		return f.spend("<nil>")
	}
	return f.cyclic(v, func() string { return f.spend("&") + f.value(v.Elem(), depth+1) })
}

// cyclic formats a value that may contain itself.
func (f *formatter) cyclic(v reflect.Value, text func() string) string {
	at := visit{v.Pointer(), v.Type()}
	if v.Kind() == reflect.Slice && v.Len() == 0 || at.ptr == 0 {
		return text()
	}
	if slices.Contains(f.path, at) {
		return f.spend("(itself)")
	}
	f.path = append(f.path, at)
	defer func() { f.path = f.path[:len(f.path)-1] }()
	return text()
}

func (f *formatter) list(v reflect.Value, depth int) string {
	n := v.Len()
	head, tail := n, 0
	if n > maxElements {
		head, tail = headElems, tailElems
	}
	var items []string
	for i := 0; i < head && f.left > 0; i++ {
		items = append(items, f.value(v.Index(i), depth+1))
	}
	shown := len(items)
	if shown < head { // the budget ended
		tail = 0
	}
	if shown+tail < n {
		items = append(items, fmt.Sprintf("... %d more of %d ...", n-shown-tail, n))
	}
	for i := n - tail; i < n; i++ {
		items = append(items, f.value(v.Index(i), depth+1))
	}
	return layout("[", items, "]", composite(v.Type().Elem()))
}

func (f *formatter) mapping(v reflect.Value, depth int) string {
	n := v.Len()
	var keys []reflect.Value
	note := ""
	if n <= maxSorted {
		keys = v.MapKeys()
		sortKeys(keys)
	} else {
		note = " in no order"
		for it := v.MapRange(); len(keys) < headElems && it.Next(); {
			keys = append(keys, it.Key())
		}
	}
	if len(keys) > maxElements {
		keys = keys[:headElems]
	}
	var items []string
	for _, k := range keys {
		if f.left <= 0 {
			break
		}
		items = append(items, f.value(k, depth+1)+f.spend(":")+f.value(v.MapIndex(k), depth+1))
	}
	if len(items) < n {
		items = append(items, fmt.Sprintf("... %d more of %d%s", n-len(items), n, note))
	}
	return layout("map[", items, "]", true)
}

// sortKeys orders keys as fmt does for the basic kinds, others by their text.
func sortKeys(keys []reflect.Value) {
	if len(keys) == 0 {
		return
	}
	kind := keys[0].Kind()
	var less func(a, b reflect.Value) int
	switch {
	case kind == reflect.String:
		less = func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }
	case keys[0].CanInt():
		less = func(a, b reflect.Value) int { return order(a.Int() < b.Int(), a.Int() == b.Int()) }
	case keys[0].CanUint():
		less = func(a, b reflect.Value) int { return order(a.Uint() < b.Uint(), a.Uint() == b.Uint()) }
	case keys[0].CanFloat():
		less = func(a, b reflect.Value) int { return order(a.Float() < b.Float(), a.Float() == b.Float()) }
	default:
		text := make(map[reflect.Value]string, len(keys))
		for _, k := range keys {
			text[k] = fmt.Sprintf("%v", k)
		}
		less = func(a, b reflect.Value) int { return strings.Compare(text[a], text[b]) }
	}
	slices.SortStableFunc(keys, less)
}

func order(less, equal bool) int {
	if equal {
		return 0
	}
	if less {
		return -1
	}
	return 1
}

func composite(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer, reflect.Interface:
		return true
	}
	return false
}

// layout joins items on one line as fmt does, or, when they are too wide, one
// to a line (composites) or filled lines (scalars).
func layout(open string, items []string, end string, onePerLine bool) string {
	width := len(open) + len(end)
	multi := false
	for _, it := range items {
		width += len(it) + 1
		multi = multi || strings.Contains(it, "\n")
	}
	if width <= lineWidth && !multi {
		return open + strings.Join(items, " ") + end
	}
	pad := "\n" + strings.Repeat(" ", len(open))
	var b strings.Builder
	b.WriteString(open)
	column := len(open)
	for i, it := range items {
		if i > 0 {
			if onePerLine || column+1+len(it) > lineWidth {
				b.WriteString(pad)
				column = len(open)
			} else {
				b.WriteByte(' ')
				column++
			}
		}
		b.WriteString(strings.ReplaceAll(it, "\n", pad))
		column += len(it)
	}
	b.WriteString(end)
	return b.String()
}

// cutString cuts s at a rune boundary and says how much is missing.
func cutString(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s... %d more bytes of %d", s[:cut], len(s)-cut, len(s))
}

// bytesText shows bytes as Go would write them: as text when they are text.
func bytesText(b []byte) string {
	const limit = 1000
	head := b
	if len(head) > limit {
		head = head[:limit]
	}
	note := ""
	if len(head) < len(b) {
		note = fmt.Sprintf(" ... %d more of %d bytes", len(b)-len(head), len(b))
	}
	printable := true
	for i := 0; i < len(head); {
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size <= 1 && (len(head)-i >= utf8.UTFMax || note == "") {
			printable = false
			break
		}
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' && r != utf8.RuneError {
			printable = false
			break
		}
		i += size
	}
	if printable {
		return "[]byte(" + strconv.Quote(string(head)) + ")" + note
	}
	if len(head) > 64 {
		head = head[:64]
		note = fmt.Sprintf(" ... %d more of %d bytes", len(b)-len(head), len(b))
	}
	return fmt.Sprintf("[]byte{% x}", head) + note
}
