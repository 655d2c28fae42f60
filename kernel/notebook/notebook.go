package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
)

// The kinds of cells that nbformat 4 knows.
const (
	Code     = "code"
	Markdown = "markdown"
	Raw      = "raw"
)

// The kinds of outputs that nbformat 4 knows.
const (
	StreamOutput  = "stream"
	DisplayOutput = "display_data"
	ResultOutput  = "execute_result"
	ErrorOutput   = "error"
)

// Tags that the runner, the comparison and Inject look at. All but the last
// are conventions of the Jupyter world (papermill, nbclient, nbval).
const (
	TagParameters      = "parameters"
	TagInjected        = "injected-parameters"
	TagRaisesException = "raises-exception"
	TagSkipExecution   = "skip-execution"
	TagIgnoreOutput    = "nbval-ignore-output"
)

// Notebook is one .ipynb document in memory. Extra fields hold what this
// package does not interpret, so that writing loses nothing.
type Notebook struct {
	Cells    []*Cell
	Metadata map[string]any
	// Minor is the nbformat minor version that was read; Write always writes at
	// least 4.5, the first with cell ids.
	Minor int
	Extra map[string]any
}

// Cell is one cell. Outputs and Count mean something for code cells only.
type Cell struct {
	ID       string
	Type     string // Code, Markdown or Raw
	Source   string
	Metadata map[string]any
	Outputs  []*Output
	Count    int // execution count; 0 is "never run" (null in the file)
	Extra    map[string]any
}

// Output is one output of a code cell; which fields count depends on Type.
type Output struct {
	Type      string         // StreamOutput, DisplayOutput, ResultOutput, ErrorOutput
	Name      string         // stream: "stdout" or "stderr"
	Text      string         // stream
	Bundle    display.Bundle // display_data, execute_result
	Count     int            // execute_result
	EName     string         // error
	EValue    string         // error
	Traceback []string       // error
	Extra     map[string]any
}

// New returns a notebook of the given cells for the rooflab kernel.
func New(cells ...*Cell) *Notebook {
	nb := &Notebook{
		Cells: cells,
		Minor: 5,
		Metadata: map[string]any{
			"kernelspec":    map[string]any{"display_name": "Go (rooflab)", "language": "go", "name": "rooflab"},
			"language_info": map[string]any{"file_extension": ".go", "mimetype": "text/x-go", "name": "go"},
		},
	}
	nb.ensureIDs()
	return nb
}

// NewCell returns a cell of the given type (Code, Markdown or Raw).
func NewCell(kind, source string, tags ...string) *Cell {
	c := &Cell{Type: kind, Source: source, Metadata: map[string]any{}}
	if len(tags) > 0 {
		list := make([]any, len(tags))
		for i, t := range tags {
			list[i] = t
		}
		c.Metadata["tags"] = list
	}
	return c
}

// HasTag says whether the cell's metadata lists the tag.
func (c *Cell) HasTag(tag string) bool {
	tags, _ := c.Metadata["tags"].([]any)
	return slices.Contains(tags, any(tag))
}

// Title is the first level-one heading of the markdown cells, or "".
func (nb *Notebook) Title() string {
	for _, c := range nb.Cells {
		if c.Type != Markdown {
			continue
		}
		for line := range strings.Lines(c.Source) {
			if t, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
				return strings.TrimSpace(t)
			}
		}
	}
	return ""
}

// ensureIDs gives an id to each cell that has none or a repeated one, as
// nbformat 4.5 wants them. The id is derived from place and content, so that
// running the same old notebook twice writes the same file.
func (nb *Notebook) ensureIDs() {
	seen := map[string]bool{}
	for i, c := range nb.Cells {
		for try := 0; c.ID == "" || seen[c.ID]; try++ {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s", i, try, c.Source))
			c.ID = hex.EncodeToString(sum[:4])
		}
		seen[c.ID] = true
	}
}

// Clone returns a copy whose cells and outputs can be changed without touching
// nb. Metadata values are shared.
func (nb *Notebook) Clone() *Notebook {
	out := *nb
	out.Cells = make([]*Cell, len(nb.Cells))
	for i, c := range nb.Cells {
		cc := *c
		cc.Outputs = make([]*Output, len(c.Outputs))
		for j, o := range c.Outputs {
			oo := *o
			cc.Outputs[j] = &oo
		}
		out.Cells[i] = &cc
	}
	return &out
}
