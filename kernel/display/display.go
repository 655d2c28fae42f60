// Package display is how values become pictures, tables and text on a front
// end. Values flow in through Show (or as a cell's trailing expression),
// MIME bundles flow out through the Sink that the session host installs.
//
// The package is linked into every cell, so it stays light: renderers for
// heavy types (dataframes, plots, tensors) live in kernel/display/rich, which
// the session host links once and which registers itself here.
package display

// Bundle is one value in several representations, keyed by MIME type.
// Text types hold a string, binary types (image/png) hold base64 text and
// application/json holds any JSON-encodable value, as the Jupyter protocol
// wants them. text/plain is always present in what Render returns.
type Bundle struct {
	Data     map[string]any
	Metadata map[string]any
}

// Displayer is implemented by values that know how to show themselves.
type Displayer interface {
	Display() Bundle
}

// Sink receives what cells display. The session host installs one; without a
// host (a plain Go program) text goes to standard output.
type Sink interface {
	// Display shows b. A non-empty id names the output; with update set the
	// output of that id is replaced instead of a new one added.
	Display(b Bundle, id string, update bool)
	// Clear removes the cell's outputs, now or (wait) when the next one comes.
	Clear(wait bool)
}
