// Package notebook reads, runs, compares and publishes Jupyter notebooks.
//
// What flows in and out, in order:
//
//	Read     .ipynb bytes (nbformat 4.0 to 4.5) -> *Notebook; unknown fields are kept
//	Inject   name=value parameters -> a cell tagged "injected-parameters"
//	Run      *Notebook + session.Session -> the same notebook with fresh outputs, and a Summary
//	Inputs   the files that cells name, with checksums -> the notebook's metadata (RecordInputs), and back (ChangedInputs)
//	Compare  two runs of one notebook -> []Difference, with a tolerance for numbers
//	Write    *Notebook -> the bytes that JupyterLab would have written (nbformat 4.5)
//	HTML     *Notebook -> one self-contained page
//
// The package knows the session only as the interface kernel/session.Session
// and imports nothing that executes Go code.
package notebook
