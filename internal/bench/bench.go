// Package bench is the form of rooflab's benchmarks: each measures something
// of ours and a named peer in the same run and says the ratio. Samples of both
// flow in, a Report flows out as a table for people or as JSON.
package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Result compares one thing. Ratio is Ours / Peer: below 1 ours is better.
type Result struct {
	Name     string  `json:"name"`
	Ours     float64 `json:"ours"` // median of the samples
	Peer     float64 `json:"peer"` // median of the samples
	PeerName string  `json:"peer_name"`
	Unit     string  `json:"unit"`
	Ratio    float64 `json:"ratio"`

	// Sizes of the samples, and their first and third quartiles.
	OursN      int        `json:"ours_n"`
	PeerN      int        `json:"peer_n"`
	OursSpread [2]float64 `json:"ours_spread"`
	PeerSpread [2]float64 `json:"peer_spread"`

	// Target is the greatest ratio that is good enough; 0 means none is set.
	Target float64 `json:"target,omitempty"`
}

// Report is the outcome of one benchmark.
type Report struct {
	Results []Result `json:"results"`
	// Machine says what it ran on.
	Machine string `json:"machine"`
	// Notes say how it was measured.
	Notes []string `json:"notes"`
}

// Compare makes a Result of two samples, neither of which may be empty. The
// samples are values of the unit where less is better.
func Compare(name, peerName, unit string, ours, peer []float64) (Result, error) {
	if len(ours) == 0 || len(peer) == 0 {
		return Result{}, fmt.Errorf("comparing %s: %d samples of ours and %d of %s, both need at least one", name, len(ours), len(peer), peerName)
	}
	r := Result{Name: name, PeerName: peerName, Unit: unit, OursN: len(ours), PeerN: len(peer)}
	r.OursSpread[0], r.Ours, r.OursSpread[1] = quartiles(ours)
	r.PeerSpread[0], r.Peer, r.PeerSpread[1] = quartiles(peer)
	if r.Peer <= 0 {
		return Result{}, fmt.Errorf("comparing %s: the median of %s is %g %s, which no ratio can be taken of", name, peerName, r.Peer, unit)
	}
	r.Ratio = r.Ours / r.Peer
	return r, nil
}

// quartiles of a sample, interpolated linearly between the order statistics
// (Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, type 7).
func quartiles(sample []float64) (first, median, third float64) {
	s := slices.Sorted(slices.Values(sample))
	at := func(p float64) float64 {
		h := p * float64(len(s)-1)
		i := int(h)
		if i+1 >= len(s) {
			return s[len(s)-1]
		}
		return s[i] + (h-float64(i))*(s[i+1]-s[i])
	}
	return at(0.25), at(0.5), at(0.75)
}

// Missed lists the results whose ratio is above their target.
func (r *Report) Missed() []Result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(x Result) bool { return x.Target == 0 || x.Ratio <= x.Target })
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tOURS\tPEER\tUNIT\tRATIO\tTARGET\tOURS n, quartiles\tPEER n, quartiles\tPEER NAME")
	for _, x := range r.Results {
		target := ""
		if x.Target > 0 {
			target = fmt.Sprintf("<= %g ok", x.Target)
			if x.Ratio > x.Target {
				target = fmt.Sprintf("<= %g MISSED", x.Target)
			}
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%s\t%.3f\t%s\t%d, %.3f to %.3f\t%d, %.3f to %.3f\t%s\n", x.Name, x.Ours, x.Peer, x.Unit, x.Ratio, target,
			x.OursN, x.OursSpread[0], x.OursSpread[1], x.PeerN, x.PeerSpread[0], x.PeerSpread[1], x.PeerName)
	}
	err := t.Flush()
	for _, n := range append([]string{"machine: " + r.Machine}, r.Notes...) {
		_, e := fmt.Fprintln(w, n)
		err = errors.Join(err, e)
	}
	return err
}
