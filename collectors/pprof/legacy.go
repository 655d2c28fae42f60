package pprof

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
)

var (
	heapHead  = regexp.MustCompile(`(?m)^heap profile: +(\d+): +(\d+) +\[ *(\d+): +(\d+)\] +@`)
	heapLine  = regexp.MustCompile(`(?m)^ *(\d+): +(\d+) +\[ *(\d+): +(\d+)\] +@`)
	countHead = regexp.MustCompile(`(?m)^(?:goroutine|threadcreate) profile: total (\d+)\r?\n`)
	countLine = regexp.MustCompile(`(?m)^(\d+) @`)
)

// checkLegacy compares the totals that a text begins with to the sums of its
// lines: a text that was cut is else read as a smaller profile. In heap
// profiles, those of everything that was ever allocated may be larger: old
// lines are left out at times.
func checkLegacy(in *collectors.Input, out *collectors.Output, data []byte) error {
	if n := len(data); n > 0 && data[0] == 0 && data[n-1] != 0 && data[n-1] != '\n' {
		out.Warn(0, 0, "the file ends within its list of mapped files: some addresses may have no module")
	}
	if n := len(data); n > 0 && data[0] != 0 && data[n-1] != '\n' {
		e := in.Syntax(bytes.Count(data, []byte("\n"))+1, 1, "the last line has no end: it may be cut")
		e.Hint = "the file is cut: get it again"
		return e
	}
	for _, form := range []struct{ head, line *regexp.Regexp }{{heapHead, heapLine}, {countHead, countLine}} {
		head := form.head.FindSubmatch(data)
		if head == nil {
			continue
		}
		sums := make([]int64, len(head)-1)
		for _, m := range form.line.FindAllSubmatch(data, -1) {
			for i, text := range m[1:] {
				n, err := strconv.ParseInt(string(text), 10, 64)
				if err != nil || sums[i]+n < sums[i] {
					return in.Syntax(1, 1, "a number of the profile does not fit 63 bits: "+string(text))
				}
				sums[i] += n
			}
		}
		for i, text := range head[1:] {
			if strconv.FormatInt(sums[i], 10) == string(text) {
				continue
			}
			msg := fmt.Sprintf("the profile begins with a total of %s, and its lines have %d together", text, sums[i])
			if bytes.Contains(data, []byte("\nMAPPED_LIBRARIES:")) || bytes.Contains(data, []byte("\n# runtime.MemStats")) || i > 1 {
				out.Warn(1, 1, "%s", msg) // what comes after the lines is there
				break
			}
			e := in.Syntax(bytes.Count(data, []byte("\n"))+1, 1, msg)
			e.Hint = "the file is cut: get it again"
			return e
		}
	}
	return nil
}
