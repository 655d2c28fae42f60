package evaluation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

func run(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	dir, err := o.Data("our-own")
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "f.csv"))
	if err != nil {
		return nil, err
	}
	o.Progress("reading", 1, 1)
	return []evaluation.Result{
		{Name: "ours", Metric: "R2", Value: float64(len(b)), Low: 2, High: 4, Baseline: "mean", BaselineValue: 0, Split: "by kernel", N: 7},
		{Name: "ours", Metric: "MAPE", Value: 0.5, Low: math.NaN(), High: math.NaN(), BaselineValue: math.NaN(), Split: "by kernel", N: 7},
	}, nil
}

// ours makes a data set of our own with one file of three bytes.
func ours(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(registry.Env, dir)
	if err := os.MkdirAll(filepath.Join(dir, "our-own"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "our-own", "f.csv"), []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestARecordHoldsWhatItTakesToRunAgain(t *testing.T) {
	ours(t)
	var said []string
	r, err := evaluation.Run(context.Background(), evaluation.Evaluation{Name: "e", Doc: "a test", Data: []string{"our-own"}, Run: run},
		evaluation.Options{Seed: 7, Progress: func(what string, done, total int) { said = append(said, what) }})
	if err != nil {
		t.Fatal(err)
	}
	// printf abc | sha256sum
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if len(r.Data) != 1 || r.Data[0] != (evaluation.Data{Set: "our-own", File: "f.csv", SHA256: sum, Bytes: 3}) {
		t.Errorf("data %+v", r.Data)
	}
	if r.Seed != 7 || r.Program.Go == "" || r.Program.Revision+r.Program.Executable == "" || r.Machine.CPUs < 1 || r.Started.IsZero() || len(said) != 1 {
		t.Errorf("%+v, progress %v", r, said)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Results []map[string]any
		Seed    int
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "metric", "value", "low", "high", "baseline", "baseline_value", "split", "n"} {
		if _, ok := back.Results[0][key]; !ok {
			t.Errorf("the JSON of a result lacks %q:\n%s", key, &b)
		}
	}
	if back.Results[0]["value"] != 3.0 || back.Results[1]["low"] != nil || back.Results[1]["baseline_value"] != nil || back.Seed != 7 {
		t.Errorf("%s", &b)
	}
	text := r.String()
	for _, want := range []string{"e: a test", "2.0000 to 4.0000", "split: by kernel", "our-own/f.csv, 3 bytes, sha256 " + sum, "seed 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestMissingDataIsSaidBeforeTheWork(t *testing.T) {
	t.Setenv(registry.Env, t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	began := false
	e := evaluation.Evaluation{Name: "e", Doc: "a test", Data: []string{"ktt-coulomb"}, Run: func(context.Context, evaluation.Options) ([]evaluation.Result, error) {
		began = true
		return nil, nil
	}}
	_, err := evaluation.Run(context.Background(), e, evaluation.Options{})
	var missing *registry.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "rooflab datasets fetch ktt-coulomb") || began {
		t.Errorf("%v, begun %v", err, began)
	}
}

func TestADataSetThatIsNotNamedCannotBeRead(t *testing.T) {
	ours(t)
	_, err := evaluation.Run(context.Background(), evaluation.Evaluation{Name: "e", Doc: "a test", Run: run}, evaluation.Options{})
	if err == nil || !strings.Contains(err.Error(), "its hash would not be recorded") {
		t.Error(err)
	}
}

func TestNoResultsAreAnError(t *testing.T) {
	none := func(context.Context, evaluation.Options) ([]evaluation.Result, error) { return nil, nil }
	if _, err := evaluation.Run(context.Background(), evaluation.Evaluation{Name: "e", Doc: "a test", Run: none}, evaluation.Options{}); err == nil {
		t.Error("an evaluation without results passes")
	}
}

func TestUnknownNamesTellTheKnown(t *testing.T) {
	var unknown *evaluation.UnknownError
	if len(evaluation.All()) == 0 { // what is registered stays when a test runs twice
		if _, err := evaluation.Lookup("no such"); err == nil || !strings.Contains(err.Error(), "none is linked") {
			t.Error(err)
		}
		evaluation.Register(evaluation.Evaluation{Name: "b", Doc: "second", Run: run})
		evaluation.Register(evaluation.Evaluation{Name: "a", Doc: "first", Run: run})
	}
	if _, err := evaluation.Lookup("c"); !errors.As(err, &unknown) || err.Error() != `no evaluation "c": there are a, b` {
		t.Error(err)
	}
	if e, err := evaluation.Lookup("a"); err != nil || e.Doc != "first" || len(evaluation.All()) != 2 {
		t.Errorf("%+v %v", e, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name is taken twice")
		}
	}()
	evaluation.Register(evaluation.Evaluation{Name: "a", Doc: "again", Run: run})
}

func TestARecordSaysWhetherItWasQuick(t *testing.T) {
	ours(t)
	for _, quick := range []bool{true, false} {
		r, err := evaluation.Run(context.Background(), evaluation.Evaluation{Name: "e", Doc: "a test", Data: []string{"our-own"}, Run: run}, evaluation.Options{Quick: quick})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), `"quick": true`) != quick || strings.Contains(r.String(), "quick: whatever takes long was left out") != quick {
			t.Errorf("quick %v:\n%s\n%s", quick, &b, r)
		}
	}
}
