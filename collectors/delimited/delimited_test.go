package delimited_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

func open(t *testing.T, content string) *delimited.Reader {
	t.Helper()
	in, err := collectors.Open("t.csv", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return delimited.New(in)
}

func TestRowsKnowTheirPlaces(t *testing.T) {
	r := open(t, "a, b ,\"c,\"\"d\"\"\ne\",f\r\n\n,last")
	row, err := r.Row()
	if err != nil {
		t.Fatal(err)
	}
	want := []delimited.Cell{
		{Text: "a", Line: 1, Column: 1}, {Text: "b", Line: 1, Column: 4},
		{Text: "c,\"d\"\ne", Line: 1, Column: 7, Quoted: true}, {Text: "f", Line: 2, Column: 4},
	}
	if len(row) != len(want) || !r.Ended || r.Line != 2 {
		t.Fatalf("%+v, line %d", row, r.Line)
	}
	for i := range want {
		if row[i] != want[i] {
			t.Errorf("cell %d is %+v, want %+v", i, row[i], want[i])
		}
	}
	row, err = r.Row()
	if err != nil || len(row) != 2 || row[1].Text != "last" || row[1].Line != 4 || r.Ended {
		t.Errorf("%+v, %v, ended %v", row, err, r.Ended)
	}
	if _, err = r.Row(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestBrokenRowsAreNamed(t *testing.T) {
	for content, want := range map[string]string{
		"a,\"b\n":                           "t.csv:1:3: the file ends within a quoted cell that begins here: expected a closing \"; the file is cut",
		"a,\"b\"c,d\n":                      "t.csv:1:6: text after a closing quote: found \"c,d\"",
		"x,\"" + strings.Repeat("y\n", 300): "t.csv:1:3: this quote never closes; look for a quote",
	} {
		_, err := open(t, content).Row()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", content, err, want)
		}
	}
}

func TestKeysIgnoreSpelling(t *testing.T) {
	h := delimited.NewHeader([]delimited.Cell{{Text: "Dispatch_ID"}, {Text: "queue-id"}, {Text: "TCC_HIT[0]"}, {Text: "Queue Id"}})
	if h.At("dispatchid") != 0 || h.At("none", "queueid") != 1 || h.At("tcchit[0]") != 2 || h.At("none") != -1 || !h.Has("dispatchid", "queueid") {
		t.Errorf("%+v", h)
	}
}
