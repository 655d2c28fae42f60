package collectors_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
)

// The words for each fault, by hand from the grammar of JSON (RFC 8259).
func TestFaultsOfJSONAreSaidInItsWords(t *testing.T) {
	type member struct {
		A float64
		B []string
		C map[string]int
		D bool
		E string
		N json.Number
	}
	for text, want := range map[string]string{
		`{"a": x}`:          "the JSON is broken: expected a value, found 'x'",
		`{a: 1}`:            "the JSON is broken: expected a key in quotes, found 'a'",
		`{"a" 1}`:           `the JSON is broken: expected ":", found '1'`,
		`{"a": 1 "b": 2}`:   `the JSON is broken: expected "," or "}", found '"'`,
		`{"b": ["x" "y"]}`:  `the JSON is broken: expected "," or "]", found '"'`,
		`{} {}`:             "the JSON is broken: expected the end of the file, found '{'",
		"{\"e\": \"x\ny\"}": `the JSON is broken: expected a closing quote before it, found '\n'`,
		`{"e": "\q"}`:       `the JSON is broken: expected one of \" \\ \/ \b \f \n \r \t \u, found 'q'`,
		`{"a": -x}`:         "the JSON is broken: expected a digit, found 'x'",
		`{"a": 1.x}`:        "the JSON is broken: expected a digit, found 'x'",
		`{"a": 1ex}`:        "the JSON is broken: expected a digit, found 'x'",
		`{"d": trup}`:       "the JSON is broken: expected true, found 'p'",
		`{"d": nul}`:        "the JSON is broken: expected null, found '}'",
		`{"a": "1"}`:        `the value of "a" is of another kind than it should be: expected a number, found a JSON string`,
		`{"b": 1}`:          `the value of "b" is of another kind than it should be: expected a list, found a JSON number`,
		`{"c": []}`:         `the value of "c" is of another kind than it should be: expected an object, found a JSON array`,
		`{"c": {"x": 1.5}}`: `the value of "c" is of another kind than it should be: expected a whole number, found a JSON number 1.5`,
		`{"d": "yes"}`:      `the value of "d" is of another kind than it should be: expected true or false, found a JSON string`,
		`{"e": {}}`:         `the value of "e" is of another kind than it should be: expected a text, found a JSON object`,
		`[]`:                "a JSON value is of another kind than it should be: expected an object, found a JSON array",
		`{"a": 1`:           "the file ends within a JSON value",
	} {
		err := json.Unmarshal([]byte(text), &member{})
		if err == nil {
			t.Fatalf("%s is right", text)
		}
		e := &collectors.SyntaxError{File: "f"}
		e.Msg, e.Expected, e.Found = collectors.JSONFault(err)
		if got := strings.TrimPrefix(e.Error(), "f: "); !strings.EqualFold(got, want) {
			t.Errorf("%s\n%s, want\n%s (%v)", text, got, want, err)
		}
	}
}
