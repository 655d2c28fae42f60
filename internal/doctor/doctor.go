// Package doctor looks at the machine and says what is there, what is missing
// and how to get it. A Machine flows in (what may be asked of the real one, or
// of a made-up one in tests), a Report flows out.
//
// Each check is one small function and one line in the table Checks.
package doctor

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
)

// The states a check can find.
const (
	OK      = "ok"
	Missing = "missing" // not there
	Broken  = "broken"  // there, but it does not work
)

// Finding is what one check found.
type Finding struct {
	Status string `json:"status"`        // OK, Missing or Broken
	Found  string `json:"found"`         // version and place, or what is wrong
	Fix    string `json:"fix,omitempty"` // how to get or mend it, unless OK
	// Details are the parts of Found, for scripts, where it has parts.
	Details any `json:"details,omitempty"`
}

// Check is one line of the table.
type Check struct {
	Group string // "kernel", "jupyter", "data", "models", "measuring", "tests"
	Name  string
	Need  string // what it is for
	// Required checks decide whether the kernel can run.
	Required bool
	Look     func(context.Context, Machine) Finding
}

// Result is a check with its finding.
type Result struct {
	Group    string `json:"group"`
	Name     string `json:"name"`
	Need     string `json:"need"`
	Required bool   `json:"required"`
	Finding
}

// Report is the outcome of all checks.
type Report struct {
	KernelRuns bool     `json:"kernel_runs"` // no required check failed
	Checks     []Result `json:"checks"`
}

// Examine runs the checks in order.
func Examine(ctx context.Context, m Machine, checks []Check) Report {
	r := Report{KernelRuns: true}
	for _, c := range checks {
		f := c.Look(ctx, m)
		if c.Required && f.Status != OK {
			r.KernelRuns = false
		}
		r.Checks = append(r.Checks, Result{Group: c.Group, Name: c.Name, Need: c.Need, Required: c.Required, Finding: f})
	}
	return r
}

// Print writes the report for people.
func (r Report) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	group := ""
	for _, c := range r.Checks {
		if c.Group != group {
			if group != "" {
				fmt.Fprintln(tw)
			}
			group = c.Group
			fmt.Fprintf(tw, "%s\n", group)
		}
		mark := c.Status
		if c.Required && mark != OK {
			mark += " (needed)"
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", c.Name, mark, c.Found)
		if c.Status != OK {
			fmt.Fprintf(tw, "\t\tfor %s: %s\n", c.Need, c.Fix)
		}
	}
	fmt.Fprintln(tw)
	if r.KernelRuns {
		fmt.Fprintln(tw, "The kernel can run.")
	} else {
		fmt.Fprintln(tw, "The kernel cannot run until what is marked (needed) is there.")
	}
	return tw.Flush()
}

func ok(format string, args ...any) Finding {
	return Finding{Status: OK, Found: fmt.Sprintf(format, args...)}
}

func missing(found, fix string) Finding { return Finding{Status: Missing, Found: found, Fix: fix} }

func broken(found, fix string) Finding { return Finding{Status: Broken, Found: found, Fix: fix} }
