// Package rich shows the heavy types of notebooks: gota dataframes and series,
// gonum plots and matrices, GoMLX tensors, images and errors. Values flow in
// from display.Render, bundles with HTML, SVG or PNG beside text flow out.
//
// Importing the package registers its renderers. The session host does so
// once; cells need not (and should not, for their link time) import it.
//
// Everything that comes from data is escaped, and no colour is set on tables:
// they take the page's, so that they read in light and dark.
package rich

import "github.com/rooflab/rooflab/kernel/display"

func init() {
	display.Register("gota", gotaBundle)
	display.Register("gonum/plot", plotBundle)
	display.Register("gonum/mat", matrixBundle)
	display.Register("gomlx", tensorBundle)
	display.Register("image", imageBundle)
	display.Register("error", errorBundle)
}
