package measure

import (
	"math"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// Names is what the rows of a store say of the two sides.
type Names struct {
	Program             string // the region's name, the same for both
	Original, Candidate string // their commands
	// InputHashes tell programs apart that are run by the same command: of the
	// executable and the input, SHA-256.
	OriginalHash, CandidateHash string
}

// Records are the rows of a store: the machine that is given, a run for each
// side (1 is the original, 2 the candidate) with one region, and for each repeat
// a launch with its time, its CPU time (time.cpu) and what the program says
// (time.claimed), in seconds. change.Between compares the two runs again.
func (r Result) Records(machine datasets.Machine, names Names) []datasets.Record {
	all := []datasets.Record{&machine}
	var began time.Time
	for _, s := range []Series{r.Original, r.Candidate} {
		for _, v := range s.Samples {
			if began.IsZero() || v.Start.Before(began) {
				began = v.Start
			}
		}
	}
	launch := int64(0)
	for i, s := range []Series{r.Original, r.Candidate} {
		run := int64(i + 1)
		side, command, hash := Original, names.Original, names.OriginalHash
		if i == 1 {
			side, command, hash = Candidate, names.Candidate, names.CandidateHash
		}
		all = append(all, &datasets.Run{ID: run, Machine: machine.ID, Tool: "rooflab", Format: "measure", Command: command, InputHash: hash,
			Started: datasets.Some(began.UTC()), Status: datasets.RunOK, TimeMetric: "time.wall", TimeInclusive: true},
			&datasets.Attribute{Run: run, Name: "measure.side", Value: string(side)},
			&datasets.Attribute{Run: run, Name: "measure.stopped", Value: r.Stopped},
			&datasets.Region{ID: run, Run: run, Kind: datasets.KindRange, Raw: names.Program, Short: names.Program})
		for _, v := range s.Samples {
			launch++
			all = append(all, &datasets.Launch{ID: launch, Run: run, Region: run, Sequence: datasets.Some(int64(v.Place)),
				StartNs: datasets.Some(v.Start.Sub(began).Nanoseconds()), DurNs: datasets.Some(int64(math.Round(v.Seconds * 1e9)))})
			for _, c := range []struct {
				metric, unit string
				v            float64
				known        bool
			}{{"time.wall", "s", v.Seconds, true}, {"time.cpu", "s", v.CPU, true}, {"time.claimed", "s", v.Claimed, true}, {"energy", "J", v.Energy, v.Energy > 0}} {
				row := &datasets.Counter{Run: run, Region: run, Launch: launch, Metric: c.metric, Unit: c.unit, Status: datasets.StatusMissing}
				if c.known && !math.IsNaN(c.v) && !math.IsInf(c.v, 0) {
					row.Value, row.Status = datasets.Some(c.v), datasets.StatusOK
				}
				all = append(all, row)
			}
		}
	}
	return all
}
