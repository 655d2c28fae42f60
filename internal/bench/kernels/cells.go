package kernels

import (
	"fmt"
	"strings"
)

// cell is a cell's text and what must come of it.
type cell struct {
	code   string
	prints string // text that it prints
	shows  string // MIME type that it shows
}

// work is one kind of cell. Each number makes another cell of the kind, whose
// text differs in a constant: what an edit makes.
type work struct {
	name    string
	imports []string // what GoNB's module must provide
	cell    func(number int) cell
}

// The cells are written in GoNB's language, which ours takes unchanged: the
// statements below %% are the body of main.
var works = []work{
	{
		name: "fmt",
		cell: func(n int) cell {
			return cell{prints: fmt.Sprintf("constant %d\n", n), code: text(`
				import "fmt"

				%%
				fmt.Println("constant", NUMBER)`, n)}
		},
	},
	{
		name:    "gota",
		imports: []string{"github.com/go-gota/gota/dataframe", "github.com/go-gota/gota/series"},
		cell: func(n int) cell {
			return cell{prints: fmt.Sprintf("mean %g\n", 2.5+float64(n)), code: text(`
				import (
					"fmt"

					"github.com/go-gota/gota/dataframe"
					"github.com/go-gota/gota/series"
				)

				%%
				df := dataframe.New(series.New([]float64{1, 2, 3, 4}, series.Float, "x"))
				fmt.Println("mean", df.Col("x").Mean()+NUMBER)`, n)}
		},
	},
	{
		name: "plot",
		imports: []string{"gonum.org/v1/plot", "gonum.org/v1/plot/plotter", "gonum.org/v1/plot/vg",
			"gonum.org/v1/plot/vg/vgimg", "github.com/janpfeifer/gonb/gonbui"},
		cell: func(n int) cell {
			return cell{shows: "image/png", code: text(`
				import (
					"bytes"

					"github.com/janpfeifer/gonb/gonbui"
					"gonum.org/v1/plot"
					"gonum.org/v1/plot/plotter"
					"gonum.org/v1/plot/vg"
					_ "gonum.org/v1/plot/vg/vgimg"
				)

				%%
				p := plot.New()
				p.Title.Text = "roofline NUMBER"
				line, err := plotter.NewLine(plotter.XYs{{X: 1, Y: 1}, {X: 2, Y: 4}, {X: 3, Y: 9}})
				if err != nil {
					panic(err)
				}
				p.Add(line)
				w, err := p.WriterTo(4*vg.Inch, 3*vg.Inch, "png")
				if err != nil {
					panic(err)
				}
				var png bytes.Buffer
				if _, err := w.WriteTo(&png); err != nil {
					panic(err)
				}
				gonbui.DisplayPNG(png.Bytes())
				gonbui.Sync() // or a program that ends at once takes the picture along`, n)}
		},
	},
	{
		name:    "gomlx",
		imports: []string{"github.com/gomlx/compute", "github.com/gomlx/compute/gobackend", "github.com/gomlx/gomlx/core/graph"},
		cell: func(n int) cell {
			// 1*1 + 2*2 + n*n; below 4096 a float32 holds it exactly.
			n %= 4000
			return cell{prints: fmt.Sprintf("sum %d\n", 5+n*n), code: text(`
				import (
					"fmt"

					"github.com/gomlx/compute"
					_ "github.com/gomlx/compute/gobackend"
					"github.com/gomlx/gomlx/core/graph"
				)

				%%
				engine, err := compute.NewWithConfig("go")
				if err != nil {
					panic(err)
				}
				sum := graph.MustExecOnce(engine, func(x *graph.Node) *graph.Node {
					return graph.ReduceAllSum(graph.Mul(x, x))
				}, []float32{1, 2, NUMBER})
				fmt.Println("sum", int(sum.Value().(float32)))`, n)}
		},
	},
}

// text takes the indentation off a cell and puts the number in.
func text(code string, n int) string {
	lines := strings.Split(strings.TrimPrefix(code, "\n"), "\n")
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], "\t"))
	for i, l := range lines {
		lines[i] = l[min(indent, len(l)):]
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "NUMBER", fmt.Sprint(n))
}
