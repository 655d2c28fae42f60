package kernels

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

// profile is a file with a made-up table of kernel launches and their
// counters: what a cell loads once and later cells read.
type profile struct {
	path    string
	bytes   int64
	rows    int
	meanDur float64 // of the column dur_ns, in ns
}

// counters is how many a launch has, besides its number, name and duration.
const counters = 8

// profileSeed makes the same file each time.
const profileSeed = 20250701

// writeProfile writes a CSV file of at least size bytes.
func writeProfile(path string, size int64) (profile, error) {
	f, err := os.Create(path)
	if err != nil {
		return profile{}, fmt.Errorf("making the table to load: %w", err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	p := profile{path: path}
	r := rand.New(rand.NewPCG(profileSeed, 1))
	var row []byte
	row = append(row, "id,kernel,dur_ns"...)
	for i := range counters {
		row = fmt.Appendf(row, ",counter_%d", i)
	}
	var total int64
	for {
		row = append(row, '\n')
		n, _ := w.Write(row) // Flush reports the error
		p.bytes += int64(n)
		if p.bytes >= size && p.rows > 0 {
			break
		}
		dur := 1000 + r.Int64N(9_000_000)
		row = fmt.Appendf(row[:0], "%d,\"gemm<float, %d>\",%d", p.rows, 16<<r.IntN(4), dur)
		for range counters {
			row = strconv.AppendFloat(append(row, ','), r.Float64()*1e6, 'f', 3, 64)
		}
		p.rows++
		total += dur
	}
	p.meanDur = float64(total) / float64(p.rows)
	if err := w.Flush(); err != nil {
		return profile{}, fmt.Errorf("writing the table to load, of %d MB, to %s: %w", size/1e6, path, err)
	}
	return p, nil
}

// load is the cell that loads the profile into a dataframe.
func (p profile) load(n int) cell {
	return cell{prints: fmt.Sprintf("rows %d\n", p.rows), code: text(fmt.Sprintf(`
		import (
			"fmt"
			"os"

			"github.com/go-gota/gota/dataframe"
		)

		func loadProfile() dataframe.DataFrame {
			f, err := os.Open(%q)
			if err != nil {
				panic(err)
			}
			defer f.Close()
			return dataframe.ReadCSV(f)
		}

		var profile = loadProfile()

		%%%%
		fmt.Println("NUMBER: rows", profile.Nrow())`, p.path), n)}
}

// read is a later cell that reads a column. The mean is printed as a whole
// number: how it is rounded further behind depends on the order of the sum.
func (p profile) read(n int) cell {
	return cell{prints: fmt.Sprintf("mean %.0f\n", p.meanDur), code: text(`
		%%
		fmt.Printf("NUMBER: mean %.0f\n", profile.Col("dur_ns").Mean())`, n)}
}

// profileImports is what the module must provide for these cells.
var profileImports = []string{"github.com/go-gota/gota/dataframe"}
