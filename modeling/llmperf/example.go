package llmperf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Example is a launch of a kernel, and what it was measured to take.
type Example struct {
	Source        string
	Kernel        string // the function's name; "" where the source has one kernel
	Args          []Argument
	Global, Local []int64 // work-items; up to three dimensions. No Local is one of the driver's choice
	Device        string  // that it was measured on

	// Group names the kernel for splits: configurations of one kernel have the
	// same. Pattern is what the generator made it after, "" where that is not known.
	Group, Pattern string

	Seconds float64 // median over the repeats; NaN where it was not measured
	// Spread is the standard deviation of the logarithms over the repeats, by
	// 1.4826 times the median absolute deviation; NaN of fewer than three.
	Spread  float64
	Repeats int
}

// generated is the path of a generated kernel, PATTERN-ID.cl.
var generated = regexp.MustCompile(`^([a-z][a-z0-9_]*)-([0-9a-f]{16})\.cl$`)

// identify fills in Group and Pattern. What has no generator's id is named by
// its text.
func (x *Example) identify(path string) {
	if m := generated.FindStringSubmatch(path); m != nil {
		x.Group, x.Pattern = m[1]+"-"+m[2], m[1]
		return
	}
	h := sha256.Sum256([]byte(x.Source + "\x00" + x.Kernel))
	x.Group = hex.EncodeToString(h[:8])
}

// Sizes reads a size as attributes and flags have it, 1024 or 64,64.
func Sizes(text string) ([]int64, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var out []int64
	for _, f := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
		if err != nil || n < 1 || len(out) == 3 {
			return nil, fmt.Errorf("%q is no size: one to three positive integers with commas between are expected", text)
		}
		out = append(out, n)
	}
	return out, nil
}

func sizes(ns []int64) string {
	var out []string
	for _, n := range ns {
		out = append(out, strconv.FormatInt(n, 10))
	}
	return strings.Join(out, ",")
}

func arguments(as []Argument) string {
	var out []string
	for _, a := range as {
		out = append(out, a.String())
	}
	return strings.Join(out, " ")
}

func unknown() float64 { return math.NaN() }
