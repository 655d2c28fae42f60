package collectors

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
)

// JSONFault says what is wrong with a piece of JSON in words of JSON, given an
// error of encoding/json: for messages to those who know their file and not
// the program that reads it.
func JSONFault(err error) (msg, expected, found string) {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		msg = "a JSON value is of another kind than it should be"
		if typ.Field != "" {
			msg = "the value of " + Quote(typ.Field) + " is of another kind than it should be"
		}
		return msg, kindOf(typ.Type), "a JSON " + typ.Value
	case errors.As(err, &syntax):
		text := syntax.Error()
		if strings.HasPrefix(text, "unexpected end") {
			return "the file ends within a JSON value", "", ""
		}
		msg = "the JSON is broken"
		if m := character.FindStringSubmatch(text); m != nil {
			found, text = m[1], m[2]
		}
		for _, place := range jsonPlaces {
			if strings.HasPrefix(text, place.says) {
				return msg, place.expected, found
			}
		}
		return msg, "", found
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the file ends within a JSON value", "", ""
	}
	return "the JSON is not what it should be", "", ""
}

var character = regexp.MustCompile(`^invalid character ('(?:\\.[^']*|[^'])+'|'\\?'') (.*)$`)

// jsonPlaces are the places where a character can be wrong.
var jsonPlaces = []struct{ says, expected string }{
	{"looking for beginning of value", "a value"},
	{"looking for beginning of object key string", "a key in quotes"},
	{"after object key:value pair", `"," or "}"`},
	{"after object key", `":"`},
	{"after array element", `"," or "]"`},
	{"after top-level value", "the end of the file"},
	{"in string literal", "a closing quote before it"},
	{"in string escape code", `one of \" \\ \/ \b \f \n \r \t \u`},
	{"in \\u hexadecimal", "four hexadecimal digits"},
	{"in numeric literal", "a digit"},
	{"after decimal point", "a digit"},
	{"in exponent", "a digit"},
	{"in literal true", "true"},
	{"in literal false", "false"},
	{"in literal null", "null"},
}

// kindOf names the kind of JSON that a type is read from.
func kindOf(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return "a number"
		}
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return ""
}
