package train

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Record is what is needed to get a run's numbers again.
type Record struct {
	Settings       Settings      `json:"settings"`
	DataHash       string        `json:"data_hash"`
	ValidationHash string        `json:"validation_hash,omitempty"`
	Examples       int           `json:"examples"`
	Validation     int           `json:"validation_examples"`
	Parameters     int64         `json:"parameters"`
	Backend        string        `json:"backend"`
	Versions       []string      `json:"versions"` // of Go and the modules that compute
	Machine        string        `json:"machine"`
	Started        time.Time     `json:"started"`
	Took           time.Duration `json:"took_ns"`
	Resumed        []int         `json:"resumed,omitempty"` // steps at which the run was taken up again
	Notices        []string      `json:"notices,omitempty"`
}

// Settings are the options that decide the loss curve.
type Settings struct {
	Epochs     int      `json:"epochs"`
	Steps      int      `json:"steps"`
	Batch      int      `json:"batch"`
	Accumulate int      `json:"accumulate"`
	Buckets    []int    `json:"buckets"`
	Rate       float64  `json:"rate"`
	Schedule   Schedule `json:"schedule"`
	Warmup     int      `json:"warmup"`
	Floor      float64  `json:"floor"`
	Clip       float64  `json:"clip"`
	Decay      float64  `json:"decay"`
	Validate   int      `json:"validate"`
	Seed       uint64   `json:"seed"`
	Precision  string   `json:"precision"`
	Devices    int      `json:"devices"`
	PerCall    int      `json:"per_call,omitempty"`
}

func newRecord(a About, o Options, x, v Examples) Record {
	r := Record{
		Settings: Settings{o.Epochs, o.Steps, o.Batch, o.Accumulate, o.Buckets, o.Rate, o.Schedule, o.Warmup, o.Floor, o.Clip, o.Decay,
			o.Validate, o.Seed, o.Precision, o.Devices, o.PerCall},
		DataHash: x.Hash(), Examples: x.Len(), Parameters: a.Parameters, Backend: a.Backend, Notices: slices.Clone(a.Notices),
		Versions: versions(), Machine: machine(), Started: time.Now().UTC(),
	}
	if v != nil {
		r.ValidationHash, r.Validation = v.Hash(), v.Len()
	}
	return r
}

// differences lists what keeps a run with record b from going on where one
// with a ended. How long to train may differ where the schedule does not
// depend on it.
func (a Record) differences(b Record) []string {
	var d []string
	diff := func(what string, x, y any) {
		if fmt.Sprint(x) != fmt.Sprint(y) {
			d = append(d, fmt.Sprintf("%s %v, now %v", what, x, y))
		}
	}
	s, t := a.Settings, b.Settings
	if s.Schedule != Constant || s.Warmup == 0 {
		diff("Epochs", s.Epochs, t.Epochs)
		diff("Steps", s.Steps, t.Steps)
	}
	diff("Batch", s.Batch, t.Batch)
	diff("Accumulate", s.Accumulate, t.Accumulate)
	diff("Buckets", s.Buckets, t.Buckets)
	diff("Rate", s.Rate, t.Rate)
	diff("Schedule", s.Schedule, t.Schedule)
	diff("Warmup", s.Warmup, t.Warmup)
	diff("Floor", s.Floor, t.Floor)
	diff("Clip", s.Clip, t.Clip)
	diff("Decay", s.Decay, t.Decay)
	diff("Validate", s.Validate, t.Validate)
	diff("Seed", s.Seed, t.Seed)
	diff("Precision", s.Precision, t.Precision)
	diff("PerCall", max(s.PerCall, 1), max(t.PerCall, 1)) // records of before have none
	diff("hash of the examples", a.DataHash, b.DataHash)
	diff("hash of the validation examples", a.ValidationHash, b.ValidationHash)
	return d
}

func versions() []string {
	v := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v = append(v, info.Main.Path+" "+info.Main.Version)
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v = append(v, "revision "+s.Value)
		}
	}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "github.com/gomlx/") {
			v = append(v, m.Path+" "+m.Version)
		}
	}
	return v
}

// machine is the processor and how many of it, as Linux says it.
func machine() string {
	model := "processor unknown"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s/%s, %d x %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model)
}
