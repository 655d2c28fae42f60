package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/change"
)

func TestMain(m *testing.M) {
	sandbox.ServeIfAsked()
	os.Exit(m.Run())
}

// runner gives times of a program that needs so many seconds, with the skewed
// noise of ordinary run times: log-normal of the given spread.
func runner(r *rand.Rand, seconds, spread float64) measure.Runner {
	return func(context.Context) (measure.Sample, error) {
		return measure.Sample{Seconds: seconds * math.Exp(spread*r.NormFloat64()), CPU: math.NaN(), Claimed: math.NaN()}, nil
	}
}

func compare(t *testing.T, a, b measure.Runner, opt measure.Options) measure.Result {
	t.Helper()
	r, err := measure.Compare(t.Context(), a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSidesTakeTurns(t *testing.T) {
	var order strings.Builder
	clock := 0.0
	side := func(name string) measure.Runner {
		return func(context.Context) (measure.Sample, error) {
			order.WriteString(name)
			clock++ // the machine gets slower
			return measure.Sample{Seconds: 100 + clock}, nil
		}
	}
	var heard []int
	r := compare(t, side("A"), side("B"), measure.Options{Warmups: 1, Min: 6, Max: 6, Progress: func(_ measure.Side, s measure.Sample) { heard = append(heard, s.Place) }})
	if got := order.String(); got != "AB"+"ABBA"+"BAAB"+"ABBA" {
		t.Errorf("order %s", got)
	}
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(heard, want) {
		t.Errorf("places %v", heard)
	}
	// By turns the drift is the same on both sides: the times of A are 100 plus
	// 3 6 8 9 11 14 and those of B 100 plus 4 5 7 10 12 13, whose medians are 108.5.
	if r.Speedup != 1 || r.Original.Median != 108.5 {
		t.Errorf("%v, median %g", r, r.Original.Median)
	}
}

func TestALargeDifferenceIsShownAtTheFirstLook(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	r := compare(t, runner(g, 2, 0.02), runner(g, 1, 0.02), measure.Options{Seed: 1})
	if r.Verdict != change.Faster || r.Looks != 1 || len(r.Candidate.Samples) != 6 || r.Stopped != measure.StopShown {
		t.Errorf("%v after %d looks: %s", r, r.Looks, r.Stopped)
	}
	if !(r.Low < 2 && r.High > 2 && r.Low > 1.8 && r.High < 2.2) {
		t.Errorf("speedup %g (%g to %g), want 2", r.Speedup, r.Low, r.High)
	}
	// All six of one side below all six of the other: 2 of the (12 over 6) = 924
	// ways to deal them.
	if !r.Exact || math.Abs(r.P-2.0/924) > 1e-12 || math.Abs(r.Threshold-0.05/3) > 1e-12 {
		t.Errorf("p = %g, of %g", r.P, r.Threshold)
	}
	r = compare(t, runner(g, 1, 0.02), runner(g, 1.3, 0.02), measure.Options{})
	if r.Verdict != change.Slower || r.High >= 1 {
		t.Errorf("%v", r)
	}
}

// Looking three times must not find more than one look may: 5 % of candidates
// that are no faster. Of 200 the 99.9 % quantile of the binomial is 21.
func TestNoDifferenceIsRarelyShownWhereThereIsNone(t *testing.T) {
	g := rand.New(rand.NewPCG(2, 2))
	shown, same := 0, 0
	for i := range 200 {
		r := compare(t, runner(g, 1, 0.05), runner(g, 1, 0.05), measure.Options{Warmups: -1, Seed: uint64(i), MinEffect: 1e-9})
		switch r.Verdict {
		case change.Faster, change.Slower:
			shown++
		case change.Same:
			same++
		}
	}
	if shown > 21 {
		t.Errorf("a difference was shown %d times of 200", shown)
	}
	t.Logf("%d of 200 shown, %d same", shown, same)
}

// A gain of 10 % with a spread of 5 %: 24 repeats of each side show it.
func TestASmallDifferenceTakesMoreRepeatsAndIsShown(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 3))
	shown, covered, repeats := 0, 0, 0
	const n = 100
	for i := range n {
		r := compare(t, runner(g, 1.1, 0.05), runner(g, 1, 0.05), measure.Options{Warmups: -1, Seed: uint64(i)})
		if r.Verdict == change.Faster {
			shown++
		}
		if r.Low <= 1.1 && r.High >= 1.1 {
			covered++
		}
		repeats += len(r.Candidate.Samples)
	}
	if shown < 90 || covered < 90 {
		t.Errorf("shown %d, covered %d of %d", shown, covered, n)
	}
	t.Logf("shown %d, covered %d of %d, %d repeats on average", shown, covered, n, repeats/n)
}

func TestEqualTimesStopEarly(t *testing.T) {
	g := rand.New(rand.NewPCG(4, 4))
	r := compare(t, runner(g, 1, 0.001), runner(g, 1, 0.001), measure.Options{})
	if r.Verdict != change.Same || r.Stopped != measure.StopSame || r.Looks != 1 {
		t.Errorf("%v after %d looks: %s", r, r.Looks, r.Stopped)
	}
}

func TestTheBudgetEndsMeasuring(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 5))
	r := compare(t, runner(g, 1, 0.3), runner(g, 1, 0.3), measure.Options{Budget: 1}) // a nanosecond: one block of turns
	if r.Stopped != measure.StopBudget || len(r.Original.Samples) != 2 || r.Verdict != change.TooFew {
		t.Errorf("%v: %s", r, r.Stopped)
	}
}

func TestTheSameSeedsGiveTheSameResult(t *testing.T) {
	once := func() string {
		g := rand.New(rand.NewPCG(6, 6))
		return compare(t, runner(g, 1.05, 0.05), runner(g, 1, 0.05), measure.Options{Seed: 9}).String()
	}
	if a, b := once(), once(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestFailuresNameSideAndRun(t *testing.T) {
	good := runner(rand.New(rand.NewPCG(7, 7)), 1, 0.1)
	bad := errors.New("wrong result")
	_, err := measure.Compare(t.Context(), good, func(context.Context) (measure.Sample, error) { return measure.Sample{}, bad }, measure.Options{})
	var failed *measure.FailedError
	if !errors.As(err, &failed) || failed.Side != measure.Candidate || !errors.Is(err, bad) || err.Error() != "measuring the candidate, run 2: wrong result" {
		t.Error(err)
	}
	nothing := func(context.Context) (measure.Sample, error) { return measure.Sample{}, nil }
	if _, err := measure.Compare(t.Context(), nothing, good, measure.Options{}); !errors.As(err, &failed) || failed.Side != measure.Original {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(context.Context) (measure.Sample, error) { cancel(); return measure.Sample{Seconds: 1}, nil }
	if _, err := measure.Compare(ctx, good, stop, measure.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, opt := range []measure.Options{{Min: 3}, {Min: 8, Max: 4}, {Alpha: 2}, {Min: 2, Max: 2}, {Budget: -1}} {
		if _, err := measure.Compare(t.Context(), good, good, opt); err == nil {
			t.Errorf("%+v passes", opt)
		}
	}
}

func TestClaimsAreHeldAgainstTheClock(t *testing.T) {
	constant := func(seconds, cpu, claimed float64) measure.Runner {
		g := rand.New(rand.NewPCG(8, 8))
		return func(context.Context) (measure.Sample, error) {
			noise := math.Exp(0.01 * g.NormFloat64())
			return measure.Sample{Seconds: seconds * noise, CPU: cpu * noise, Claimed: claimed}, nil
		}
	}
	delayed := func(seconds float64, run measure.Runner) measure.Runner {
		return func(ctx context.Context) (measure.Sample, error) {
			v, err := run(ctx)
			v.Delayed = seconds
			return v, err
		}
	}
	nan := math.NaN()
	for _, c := range []struct {
		name                string
		original, candidate measure.Runner
		want                []string
	}{
		{"says nothing", constant(2, 2, nan), constant(1, 1, nan), nil},
		// Of 2 s the kernel took 1.5 s and now takes 0.5 s: 1 s is saved, as it says.
		{"honest", constant(2, 2, 1.5), constant(1, 1, 0.5), nil},
		{"slower and honest", constant(1, 1, 0.5), constant(2, 2, 1.5), nil},
		{"its clock stands still", constant(2, 2, 1.5), constant(2, 2, 0), []string{measure.OwnClock}},
		{"half of the gain is made up", constant(2, 2, 1.5), constant(1.6, 1.6, 0.5), []string{measure.OwnClock}},
		{"below 0", constant(2, 2, 1.5), constant(1, 1, -1), []string{measure.OwnClock}},
		{"more than there was", constant(2, 2, 1.5), constant(1, 1, 1.5), []string{measure.OwnClock}},
		{"sleeps", constant(1, 1, nan), constant(2, 0.1, nan), []string{measure.Waits}},
		// Of 1 s the original computes for 0.6 s, on a machine with other work; the
		// candidate waits for 0.9 s of 1 s, 0.5 s more.
		{"sleeps under load", constant(1, 0.6, nan), constant(1, 0.1, nan), []string{measure.Waits}},
		// It computes six times as fast and waits for the disk as before: 1.8 s.
		{"the rest is input", constant(10, 8.2, nan), constant(3.2, 1.4, nan), nil},
		{"both wait", constant(1, 0.1, nan), constant(1, 0.1, nan), nil},
		{"it waits twice as long", constant(1, 0.1, nan), constant(1.9, 0.1, nan), []string{measure.Waits}},
		// Twice the CPU time, on a machine where each second of it takes five.
		{"slower under load", constant(1, 0.2, nan), constant(2, 0.4, nan), nil},
		// Of 2 s it computes for 0.1 s; for 1.85 s others had the CPUs.
		{"others had the CPUs", constant(1, 0.1, nan), delayed(1.85, constant(2, 0.1, nan)), nil},
		{"sleeps, and others had the CPUs", constant(1, 0.1, nan), delayed(0.5, constant(3, 0.1, nan)), []string{measure.Waits}},
	} {
		var got []string
		for _, f := range compare(t, c.original, c.candidate, measure.Options{}).Findings {
			got = append(got, f.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func work(t *testing.T, name string, flags ...string) measure.Program {
	t.Helper()
	box, err := sandbox.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	args := append([]string{"-O1", "-o", program, "testdata/work.c"}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc is needed (Debian: apt-get install gcc) to compile testdata/work.c: %v\n%s", err, out)
	}
	return measure.Program{
		Box: box, Claim: regexp.MustCompile(`time = ([-0-9.e]+) s`),
		Command: sandbox.Command{Argv: []string{"./work"}, Put: []sandbox.Copy{{From: program, To: "work"}},
			Limits: sandbox.Limits{Wall: time.Minute, Disk: 1 << 20}},
	}
}

// The candidates do three times the work and say that it took no time.
func TestAPatchedTimerGainsNothingAndIsTold(t *testing.T) {
	original := work(t, "original", "-DWORK=2000000", "-DEXIT=0", "-DTRICK=NONE")
	library := work(t, "fake.so", "-DTRICK=4", "-shared", "-fPIC").Command.Put[0].From
	for _, trick := range []string{"1", "PRELOAD", "SAY"} {
		liar := work(t, "liar", "-DWORK=6000000", "-DEXIT=0", "-DTRICK="+trick)
		liar.Command.Put = append(liar.Command.Put, sandbox.Copy{From: library, To: "fake.so"})
		lies(t, trick, compare(t, original.Run, liar.Run, measure.Options{Warmups: -1, Min: 6, Max: 6}))
	}
}

func lies(t *testing.T, trick string, r measure.Result) {
	t.Helper()
	if r.Verdict == change.Faster {
		t.Errorf("%s: %v", trick, r)
	}
	for _, s := range r.Candidate.Samples {
		if s.Claimed != 0 || !(s.Seconds > 0) || !(s.CPU > 0) {
			t.Errorf("%s: %+v", trick, s)
		}
	}
	if len(r.Findings) != 1 || r.Findings[0].Kind != measure.OwnClock || !strings.HasPrefix(r.Findings[0].Text, "it says it takes 0 s instead of") {
		t.Errorf("%s: findings %v", trick, r.Findings)
	}
}

func TestWorkThatGoesOnAfterTheEndIsNotMeasured(t *testing.T) {
	p := work(t, "leave", "-DWORK=1000", "-DEXIT=0", "-DTRICK=LEAVE")
	if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "left 1 processes running") {
		t.Error(err)
	}
}

func TestRunsAreCheckedToo(t *testing.T) {
	p := work(t, "fails", "-DWORK=1000", "-DEXIT=3", "-DTRICK=NONE")
	if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	p = work(t, "good", "-DWORK=1000", "-DEXIT=0", "-DTRICK=NONE")
	p.Unit = 1000
	p.Check = func(o sandbox.Outcome, dir string) error {
		if _, err := os.Stat(filepath.Join(dir, "work")); err != nil {
			return err
		}
		if !strings.HasPrefix(string(o.Stdout), "time = ") {
			return fmt.Errorf("it printed %q", o.Stdout)
		}
		return nil
	}
	s, err := p.Run(t.Context())
	if err != nil || !(s.Claimed > 0) {
		t.Errorf("%v, %+v", err, s)
	}
	p.Check = func(sandbox.Outcome, string) error { return errors.New("wrong result") }
	if _, err := p.Run(t.Context()); err == nil || err.Error() != "wrong result" {
		t.Error(err)
	}
}

func TestRecordsHoldEveryRepeat(t *testing.T) {
	g := rand.New(rand.NewPCG(9, 9))
	r := compare(t, runner(g, 2, 0.02), runner(g, 1, 0.02), measure.Options{Min: 6, Max: 6})
	launches, times, missing := map[int64]int{}, map[int64][]float64{}, 0
	seen := map[int64]bool{}
	for _, rec := range r.Records(host.Machine(), measure.Names{Program: "stencil", Original: "./a", Candidate: "./b"}) {
		switch v := rec.(type) {
		case *datasets.Launch:
			launches[v.Run]++
			if seen[v.ID] || !v.StartNs.Valid || v.StartNs.V < 0 || !v.DurNs.Valid {
				t.Errorf("%+v", v)
			}
			seen[v.ID] = true
		case *datasets.Counter:
			if v.Metric == "time.wall" {
				times[v.Run] = append(times[v.Run], v.Value.V)
			} else if !v.Value.Valid && v.Status == datasets.StatusMissing {
				missing++
			}
		case *datasets.Region:
			if v.Short != "stencil" {
				t.Errorf("%+v", v)
			}
		}
	}
	if launches[1] != 6 || launches[2] != 6 || missing != 36 { // of 12 repeats CPU time, claimed time and energy
		t.Errorf("launches %v, %d values missing", launches, missing)
	}
	if !slices.Equal(times[1], r.Original.Seconds()) || !slices.Equal(times[2], r.Candidate.Seconds()) {
		t.Errorf("times %v", times)
	}
}
