package collectors_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
)

func TestLinesSayWhereTheyAreAndWhetherTheyEnd(t *testing.T) {
	in, err := collectors.Open("f", strings.NewReader("a\r\n\nlast"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for l, err := range in.Lines(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text := string(l.Text)
		if !l.Ended {
			text += "|"
			if e := in.Cut(l.Number, len(l.Text), "get it again"); e.Line != 3 || e.Column != 5 || e.Expected != "a line end" || e.Hint != "get it again" {
				t.Errorf("the error of a cut line is %#v", e)
			}
		}
		got = append(got, text)
	}
	if s := strings.Join(got, ","); s != "a,,last|" {
		t.Errorf("the lines are %q", s)
	}
}

func TestLinesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, err := collectors.Open("f", strings.NewReader(strings.Repeat("a\n", 5000)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err = range in.Lines(ctx) {
		n++
		cancel()
	}
	if !errors.Is(err, context.Canceled) || n >= 5000 {
		t.Errorf("after %d lines the error is %v", n, err)
	}
	for _, err := range in.Lines(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, line, _, err := in.Line(); err != nil || line < 3 {
		t.Errorf("a loop that was left does not go on where it was: line %d, %v", line, err)
	}
}
