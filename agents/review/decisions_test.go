package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/review"
)

func decision(program string, v review.Verdict, why string) review.Decision {
	return review.Decision{At: time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC), Candidate: "1.2", Name: "tiling\nof x", Program: program, Verdict: v, Why: why}
}

func TestTheLatestDecisionOfAProgramCounts(t *testing.T) {
	dir := t.TempDir()
	if ds, err := review.Read(dir); err != nil || ds != nil {
		t.Fatal(ds, err)
	}
	for _, d := range []review.Decision{decision("a", review.Rejected, "no\nreason"), decision("b", review.Accepted, ""), decision("a", review.Accepted, "after all")} {
		if err := review.Append(dir, d); err != nil {
			t.Fatal(err)
		}
	}
	ds, err := review.Read(dir)
	if err != nil || len(ds) != 3 || ds[0].Why != "no\nreason" || ds[0].Name != "tiling\nof x" || !ds[0].At.Equal(decision("", "", "").At) {
		t.Fatalf("%+v, %v", ds, err)
	}
	if d, ok := review.Latest(ds, "a"); !ok || d.Verdict != review.Accepted || d.Why != "after all" {
		t.Errorf("%+v", d)
	}
	if _, ok := review.Latest(ds, "c"); ok {
		t.Error("a program that nobody decided about was decided about")
	}
}

func TestDecisionsThatSayNothingAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []review.Decision{decision("a", review.Rejected, " \n"), decision("a", "maybe", "x"), decision("a", review.Rejected, strings.Repeat("x", 5000))} {
		if err := review.Append(dir, d); err == nil {
			t.Errorf("%q, %d bytes of reason: recorded", d.Verdict, len(d.Why))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, review.File)); err == nil {
		t.Error("a refused decision leaves a file")
	}
}

// A process may end within the writing of a line.
func TestACutDecisionIsNoneAndTheNextStandsAlone(t *testing.T) {
	dir := t.TempDir()
	if err := review.Append(dir, decision("a", review.Accepted, "")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, review.File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Shorter than the line that comes, and longer.
	for _, cut := range []string{string(whole) + `{"at": "2026`, string(whole) + strings.Repeat("x", 2000)} {
		if err := os.WriteFile(path, []byte(cut), 0o644); err != nil {
			t.Fatal(err)
		}
		if ds, err := review.Read(dir); err != nil || len(ds) != 1 {
			t.Fatalf("%d decisions, %v", len(ds), err)
		}
		if err := review.Append(dir, decision("b", review.Rejected, "w")); err != nil {
			t.Fatal(err)
		}
		if ds, err := review.Read(dir); err != nil || len(ds) != 2 || ds[1].Program != "b" {
			t.Fatalf("%+v, %v", ds, err)
		}
	}
	if err := os.WriteFile(path, []byte(string(whole)+"nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := review.Read(dir); err == nil || !strings.Contains(err.Error(), "decisions.jsonl:2") {
		t.Errorf("a damaged file: %v", err)
	}
}
