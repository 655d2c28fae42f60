package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/internal/bench"
)

// Race says what to measure.
type Race struct {
	Ours     string // path of the rooflab binary
	NCUBytes int64  // size of the Nsight Compute CSV
	Caliper  int    // number of Caliper files
	// PeerCaliper is how many of them Thicket reads; its time is scaled up to
	// all of them in proportion, which favours it: it takes longer per file the
	// more there are. 0 lets it read all.
	PeerCaliper int
	TraceBytes  int64 // size of the Chrome trace
	Rounds      int
	Seed        uint64
	Progress    func(line string)

	dir string
}

// Targets: a quarter of pandas' time and a tenth of Thicket's; memory within
// fixed bounds.
const (
	ncuTarget     = 1.0 / 4
	caliperTarget = 1.0 / 10
	ncuMemory     = 1500 // MB
	traceMemory   = 1000 // MB
)

// Run measures and leaves no file behind.
func (r *Race) Run(ctx context.Context) (*bench.Report, error) {
	py, err := peers(ctx, r.Progress)
	if err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "rooflab-bench-import-"); err != nil {
		return nil, fmt.Errorf("making a folder for the benchmark: %w", err)
	}
	defer os.RemoveAll(r.dir)
	rep := &bench.Report{}
	for _, part := range []func(context.Context, string, *bench.Report) error{r.ncu, r.caliper, r.trace} {
		if err := part(ctx, py, rep); err != nil {
			return nil, err
		}
	}
	rep.Machine = bench.Machine()
	rep.Notes = append(rep.Notes, "each import and each peer is a process of its own; times are wall time, memory is its peak resident set",
		fmt.Sprintf("peers from PyPI: %s", strings.Join(pins, ", ")), fmt.Sprintf("profiles made with seed %d; what both sides read was compared", r.Seed))
	return rep, nil
}

// create writes a generated file.
func (r *Race) create(name string, write func(*os.File) error) (string, error) {
	path := filepath.Join(r.dir, name)
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return path, err
}

// ours imports paths into a new store and checks what a query says of it.
func (r *Race) ours(ctx context.Context, sql string, want []float64, paths ...string) (usage, error) {
	store := filepath.Join(r.dir, "store.db")
	defer func() {
		os.Remove(store)
		os.Remove(store + ".wal")
	}()
	u, _, err := measure(ctx, r.Ours, append([]string{"import", "--json", "--store", store}, paths...)...)
	if err != nil {
		return u, err
	}
	_, out, err := measure(ctx, r.Ours, "query", "--store", store, "--format", "csv", sql)
	if err != nil {
		return u, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return u, compare("rooflab", strings.Split(lines[len(lines)-1], ","), want)
}

// compare checks what a side read.
func compare(who string, got []string, want []float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: it says %q, expected %v", who, got, want)
	}
	for i, g := range got {
		v, err := strconv.ParseFloat(strings.TrimSpace(g), 64)
		if err != nil || math.Abs(v-want[i]) > 1e-9*math.Abs(want[i]) {
			return fmt.Errorf("%s: it read %q, which should be %v: the race is void", who, got, want)
		}
	}
	return nil
}

func (r *Race) ncu(ctx context.Context, py string, rep *bench.Report) error {
	var launches int
	var ns int64
	r.Progress(fmt.Sprintf("writing an Nsight Compute CSV of %.0f MB", float64(r.NCUBytes)/1e6))
	path, err := r.create("profile.csv", func(f *os.File) (err error) {
		launches, ns, err = writeNCU(f, r.NCUBytes, r.Seed)
		return err
	})
	if err != nil {
		return err
	}
	defer os.Remove(path)
	want := []float64{float64(launches), float64(launches * len(ncuMetrics)), float64(ns)}
	var ours, peer, memory []float64
	peerMemory := 0.0
	for i := range r.Rounds {
		r.Progress(fmt.Sprintf("Nsight Compute CSV, round %d of %d", i+1, r.Rounds))
		u, err := r.ours(ctx, `SELECT (SELECT count(*) FROM launch), count(*), sum(raw_value.replace(',', '')::BIGINT) FILTER (metric = 'gpu__time_duration.sum') FROM counter`, want, path)
		if err != nil {
			return err
		}
		ours, memory = append(ours, u.seconds), append(memory, u.megabytes)
		p, out, err := measure(ctx, py, "-c", pandasScript, path)
		if err != nil {
			return err
		}
		if err := compare("pandas", strings.Fields(string(out)), []float64{want[0], want[1], want[2]}); err != nil {
			return err
		}
		peer, peerMemory = append(peer, p.seconds), p.megabytes
	}
	res, err := bench.Compare(fmt.Sprintf("ncu long CSV, %.0f MB", float64(r.NCUBytes)/1e6), "pandas read_csv and pivot", "s", ours, peer)
	if err != nil {
		return err
	}
	res.Target = ncuTarget
	mem, err := bench.Compare("ncu long CSV, peak memory", fmt.Sprintf("bound of %d MB", ncuMemory), "MB", memory, []float64{ncuMemory})
	if err != nil {
		return err
	}
	mem.Target = 1
	rep.Results = append(rep.Results, res, mem)
	rep.Notes = append(rep.Notes, fmt.Sprintf("ncu: %d launches, %d rows; pandas' peak memory is %.0f MB", launches, launches*len(ncuMetrics), peerMemory))
	return nil
}

func (r *Race) caliper(ctx context.Context, py string, rep *bench.Report) error {
	dir := filepath.Join(r.dir, "caliper")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.Progress(fmt.Sprintf("writing %d Caliper files", r.Caliper))
	total, err := writeCaliper(dir, r.Caliper, r.Seed)
	if err != nil {
		return err
	}
	n := r.PeerCaliper
	if n == 0 || n > r.Caliper {
		n = r.Caliper
	}
	regions := 1 + 6 + caliRegions
	var ours, peer []float64
	for i := range r.Rounds {
		r.Progress(fmt.Sprintf("Caliper, round %d of %d", i+1, r.Rounds))
		u, err := r.ours(ctx, `SELECT (SELECT count(*) FROM run), count(*), round(sum(value), 3) FROM counter WHERE metric = 'sum#time.duration'`,
			[]float64{float64(r.Caliper), float64(r.Caliper * regions), math.Round(total*1000) / 1000}, dir)
		if err != nil {
			return err
		}
		ours = append(ours, u.seconds)
		if i > 0 && n > 200 {
			continue // minutes: once is enough
		}
		_, out, err := measure(ctx, py, "-c", thicketScript, dir, strconv.Itoa(n))
		if err != nil {
			return err
		}
		var said struct {
			Seconds float64
			Rows    int
		}
		if err := json.Unmarshal(lastLine(out), &said); err != nil || said.Rows != n*regions {
			return fmt.Errorf("thicket read %d rows of %d files, expected %d (%w): the race is void", said.Rows, n, n*regions, err)
		}
		peer = append(peer, said.Seconds*float64(r.Caliper)/float64(n))
	}
	res, err := bench.Compare(fmt.Sprintf("%d Caliper files", r.Caliper), "Thicket", "s", ours, peer)
	if err != nil {
		return err
	}
	res.Target = caliperTarget
	rep.Results = append(rep.Results, res)
	note := "Thicket: the time of Thicket.from_caliperreader alone, without starting Python and importing it"
	if n < r.Caliper {
		note += fmt.Sprintf("; measured on %d files and scaled up in proportion, which favours it", n)
	}
	rep.Notes = append(rep.Notes, note)
	return nil
}

func (r *Race) trace(ctx context.Context, _ string, rep *bench.Report) error {
	var events int
	var us int64
	r.Progress(fmt.Sprintf("writing a Chrome trace of %.0f MB", float64(r.TraceBytes)/1e6))
	path, err := r.create("trace.json", func(f *os.File) (err error) {
		events, us, err = writeTrace(f, r.TraceBytes, r.Seed)
		return err
	})
	if err != nil {
		return err
	}
	defer os.Remove(path)
	r.Progress("Chrome trace")
	u, err := r.ours(ctx, `SELECT count(*), sum(dur_ns)::BIGINT FROM launch`, []float64{float64(events), float64(us) * 1000}, path)
	if err != nil {
		return err
	}
	res, err := bench.Compare(fmt.Sprintf("Chrome trace of %.0f MB, peak memory", float64(r.TraceBytes)/1e6), fmt.Sprintf("bound of %d MB", traceMemory), "MB",
		[]float64{u.megabytes}, []float64{traceMemory})
	if err != nil {
		return err
	}
	res.Target = 1
	rep.Results = append(rep.Results, res)
	rep.Notes = append(rep.Notes, fmt.Sprintf("Chrome trace: %d events in %.1f s", events, u.seconds))
	return nil
}

func lastLine(out []byte) []byte {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return []byte(lines[len(lines)-1])
}
