package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Program is a command that is measured in a sandbox.
type Program struct {
	Box     *sandbox.Box
	Command sandbox.Command // Watch is not used: it would be timed
	// Claim finds in what is printed the time that the program says it took: its
	// first group is a number, which Unit turns into seconds (0 is 1). Nil: it says
	// nothing.
	Claim *regexp.Regexp
	Unit  float64
	// Sensors are read just before and after the run: the joules have what the
	// sandbox itself takes in them.
	Sensors Sensors
	// Check, where there is one, looks at each run that counts or not: at what it
	// printed and at the files that it left, in dir. So what is measured is what
	// was validated.
	Check func(o sandbox.Outcome, dir string) error
}

// EndError says that a run ended otherwise than well, or left processes running.
type EndError struct{ Outcome sandbox.Outcome }

func (e *EndError) Error() string {
	if e.Outcome.OK() {
		return fmt.Sprintf("it left %d processes running", e.Outcome.LeftBehind)
	}
	text := strings.TrimSpace(string(e.Outcome.Stderr))
	return fmt.Sprintf("it ended with %v: %s", e.Outcome, text[:min(len(text), 500)])
}

// Run is a Runner.
func (p Program) Run(ctx context.Context) (Sample, error) {
	v := Sample{CPU: math.NaN(), Claimed: math.NaN(), Energy: math.NaN()}
	c := p.Command
	c.Watch = nil
	if p.Check != nil {
		dir, err := os.MkdirTemp("", "rooflab-measure-")
		if err != nil {
			return v, err
		}
		defer os.RemoveAll(dir)
		c.Keep = dir
	}
	end, err := p.Sensors.begin(ctx)
	if err != nil {
		return v, err
	}
	v.Start = time.Now()
	o, err := p.Box.Run(ctx, c)
	energy, eerr := end()
	if err := errors.Join(err, eerr); err != nil {
		return v, err
	}
	v.Energy = energy
	if !o.OK() || o.LeftBehind > 0 { // what was left may have done the work
		return v, &EndError{o}
	}
	if p.Check != nil {
		if err := p.Check(o, c.Keep); err != nil {
			return v, err
		}
	}
	v.Seconds, v.Delayed = o.Wall.Seconds(), o.Delayed.Seconds()
	if cpu := o.User + o.System; cpu > 0 {
		v.CPU = cpu.Seconds()
	}
	if p.Claim != nil {
		if m := p.Claim.FindSubmatch(o.Stdout); len(m) > 1 {
			if x, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
				v.Claimed = x
				if p.Unit != 0 {
					v.Claimed *= p.Unit
				}
			}
		}
	}
	return v, nil
}

var _ Runner = Program{}.Run
