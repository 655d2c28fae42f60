package opencl

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// expectation is what an output has to be.
type expectation struct {
	kind      string // "all", "sum" or "sha256"
	value     float64
	tolerance float64
	sum       string
}

func parseExpectation(s string) (expectation, error) {
	kind, rest, _ := strings.Cut(s, "=")
	e := expectation{kind: kind, tolerance: 1e-5}
	switch kind {
	case "sha256":
		b, err := hex.DecodeString(rest)
		if err != nil || len(b) != sha256.Size {
			return e, fmt.Errorf("%q: sha256= needs 64 hexadecimal digits", s)
		}
		e.sum = strings.ToLower(rest)
		return e, nil
	case "all", "sum":
		number, tolerance, has := strings.Cut(rest, "~")
		var err error
		if e.value, err = strconv.ParseFloat(number, 64); err == nil && has {
			e.tolerance, err = strconv.ParseFloat(tolerance, 64)
		}
		if err != nil {
			return e, fmt.Errorf("%q: expected %s=NUMBER or %s=NUMBER~TOLERANCE", s, kind, kind)
		}
		return e, nil
	}
	return e, fmt.Errorf("%q: there are all=V, sum=V (each with ~TOLERANCE) and sha256=HEX", s)
}

// contents is what an output holds after one launch on fresh inputs.
type contents struct {
	SHA256    string
	Sum       total  // over the numbers that are finite; it may be infinite itself
	NonFinite int64  // not a number, or infinite
	Fault     string // how it differs from what is expected
}

// total is a float64 that JSON carries whatever it is.
type total float64

func (n total) String() string { return strconv.FormatFloat(float64(n), 'g', -1, 64) }

// MarshalText is for encoding/json.
func (n total) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText is for encoding/json.
func (n *total) UnmarshalText(b []byte) error {
	v, err := strconv.ParseFloat(string(b), 64)
	*n = total(v)
	return err
}

func inspect(b []byte, e element, expect string) contents {
	h := sha256.Sum256(b)
	c := contents{SHA256: hex.EncodeToString(h[:])}
	var want expectation
	if expect != "" {
		want, _ = parseExpectation(expect) // it parsed before
	}
	for i := 0; i+e.Size <= len(b); i += e.Size {
		if lane := i / e.Size; lane%e.Slots >= e.Lanes {
			continue // what fills up a vector of 3
		}
		v := e.get(b[i:])
		if math.IsNaN(v) || math.IsInf(v, 0) {
			c.NonFinite++
		} else {
			c.Sum += total(v)
		}
		if want.kind == "all" && c.Fault == "" && !near(v, want) {
			c.Fault = fmt.Sprintf("element %d is %v, expected %v", i/e.Size/e.Slots, v, want.value)
		}
	}
	switch {
	case want.kind == "sum" && c.NonFinite > 0:
		c.Fault = fmt.Sprintf("%d elements are not finite", c.NonFinite)
	case want.kind == "sum" && !near(float64(c.Sum), want):
		c.Fault = fmt.Sprintf("the sum is %v, expected %v", c.Sum, want.value)
	case want.kind == "sha256" && want.sum != c.SHA256:
		c.Fault = fmt.Sprintf("its sha256 is %s, expected %s", c.SHA256, want.sum)
	}
	return c
}

func near(v float64, want expectation) bool {
	return math.Abs(v-want.value) <= want.tolerance*math.Max(1, math.Abs(want.value))
}
