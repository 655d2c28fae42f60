package devices

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Facts are what a profile tells of its device; what it does not tell is zero.
type Facts struct {
	Name     string // "NVIDIA A100-SXM4-40GB", "Intel(R) Xeon(R) Platinum 8480+"
	Arch     string // "cc8.0", "gfx90a:sramecc+:xnack-"
	Units    int64
	MemBytes int64
}

func (f Facts) String() string {
	var parts []string
	if f.Name != "" {
		parts = append(parts, fmt.Sprintf("%q", f.Name))
	}
	if f.Arch != "" {
		parts = append(parts, f.Arch)
	}
	if f.Units > 0 {
		parts = append(parts, fmt.Sprintf("%d units", f.Units))
	}
	if f.MemBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.4g GB", float64(f.MemBytes)/1e9))
	}
	if len(parts) == 0 {
		return "a device of which nothing is known"
	}
	return strings.Join(parts, ", ")
}

// UnknownError says that the table has no such device.
type UnknownError struct {
	Facts   Facts
	Nearest []string // names of the table that look most like it
}

func (e *UnknownError) Error() string {
	s := fmt.Sprintf("the device table has no %s", e.Facts)
	if len(e.Nearest) > 0 {
		s += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return s
}

// AmbiguousError says that several devices of the table fit.
type AmbiguousError struct {
	Facts      Facts
	Candidates []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s fits several devices of the table, %s: say more of the name, the number of units or the memory", e.Facts, strings.Join(e.Candidates, ", "))
}

// Find finds a device by its name, as profiles spell it: with or without the
// vendor, "(R)", a clock, in any order of the words and in any case. A part of
// a name will do where it fits one device alone. An architecture ("gfx90a",
// "cc12.0", "sm_120"), alone or followed by a number of units ("gfx90a 110"),
// is looked up as such. The error is an AmbiguousError or an UnknownError.
func Find(name string) (Device, error) {
	return Match(Facts{Name: name})
}

var archName = regexp.MustCompile(`^(gfx[0-9a-f]+|cc ?[0-9.]+|sm_?[0-9]+)(?:[:a-z+-]*)(?:[ ,]+([0-9]+)(?: ?cus?| ?sms?| units)?)?$`)

// Match finds a device by all that a profile tells of it. The name decides, or
// the architecture where there is no name; units and memory decide between
// those that fit. Where several remain whose limits and memory are the same, it
// is the first of them, and Same names the others.
func Match(f Facts) (Device, error) {
	if m := archName.FindStringSubmatch(strings.TrimSpace(strings.ToLower(f.Name))); m != nil {
		f.Name, f.Arch = "", cmp.Or(f.Arch, m[1])
		if n, err := strconv.ParseInt(m[2], 10, 64); err == nil && f.Units == 0 {
			f.Units = n
		}
	}
	fits := named(f.Name)
	if f.Name == "" && f.Arch != "" {
		for _, d := range table() {
			if d.Kind == GPU && d.ISA == canonical(f.Arch) {
				fits = append(fits, d)
			}
		}
	}
	if len(fits) == 0 {
		return Device{}, &UnknownError{f, nearest(f.Name)}
	}
	narrow := func(keep func(Device) bool) {
		var kept []Device
		for _, d := range fits {
			if keep(d) {
				kept = append(kept, d)
			}
		}
		if len(kept) > 0 {
			fits = kept
		}
	}
	if f.Arch != "" && len(fits) > 1 {
		narrow(func(d Device) bool { return d.ISA == canonical(f.Arch) })
	}
	if f.Units > 0 {
		narrow(func(d Device) bool { return int64(d.Units) == f.Units })
	}
	if f.MemBytes > 0 && len(fits) > 1 {
		narrow(func(d Device) bool { return !d.MemBytes.Valid || about(f.MemBytes, d.MemBytes.V) })
	}
	d := fits[0]
	// Without a name, units that none of the architecture has are another device.
	if f.Name == "" && f.Units > 0 && int64(d.Units) != f.Units {
		return Device{}, &UnknownError{f, namesOf(fits)}
	}
	for _, other := range fits[1:] {
		if !sameLimits(d, other) {
			return Device{}, &AmbiguousError{f, namesOf(fits)}
		}
		d.Same = append(d.Same, other.Name)
	}
	return d, nil
}

// about tells whether a memory size that a driver reports is that of a card:
// drivers keep up to a tenth for themselves and some count in GB.
func about(reported, card int64) bool {
	return float64(reported) > 0.88*float64(card) && float64(reported) < 1.02*float64(card)
}

func sameLimits(a, b Device) bool {
	return a.MemBytes == b.MemBytes && slices.EqualFunc(a.Limits(), b.Limits(), func(x, y Limit) bool {
		return x.Name == y.Name && x.Value.Value == y.Value.Value
	})
}

func namesOf(ds []Device) []string {
	names := make([]string, len(ds))
	for i, d := range ds {
		names[i] = d.Name
	}
	return names
}

// canonical is an architecture as the table has it: "sm_80", "8.0" and
// "CC 8.0" are "cc8.0", and features of an AMD target are dropped.
func canonical(arch string) string {
	a, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(arch, " ", "")), ":")
	if n, ok := strings.CutPrefix(a, "sm"); ok {
		n = strings.TrimPrefix(n, "_")
		if len(n) >= 2 {
			return "cc" + n[:len(n)-1] + "." + n[len(n)-1:]
		}
	}
	if a != "" && a[0] >= '0' && a[0] <= '9' {
		return "cc" + a
	}
	return a
}

// mostFits is how many names a part of a name may fit. What fits more ("Intel(R)
// Xeon(R) Processor", as virtual machines say) says so little that it may well
// be a device that the table has not.
const mostFits = 8

// named lists the devices that a name fits: those that have it as a name, else
// those of whose name it is a part, else those of a series of that name.
func named(name string) []Device {
	asked := words(name)
	if len(asked) == 0 {
		return nil
	}
	var exact, part, series []Device
	for _, d := range table() {
		best := 0
		for _, n := range append([]string{d.Name}, d.Also...) {
			has := words(n)
			all := true
			for w := range asked {
				all = all && has[w]
			}
			switch {
			case all && len(has) == len(asked):
				best = 2
			case all:
				best = max(best, 1)
			}
		}
		switch {
		case best == 2:
			exact = append(exact, d)
		case best == 1:
			part = append(part, d)
		case d.row.series != "" && strings.EqualFold(strings.TrimSpace(name), d.row.series):
			series = append(series, d)
		}
	}
	if len(part) > mostFits {
		part = nil
	}
	for _, ds := range [][]Device{exact, part, series} {
		if len(ds) > 0 {
			return ds
		}
	}
	return nil
}

var (
	trademark = regexp.MustCompile(`\((r|tm|c)\)|[®™]`)
	cores     = regexp.MustCompile(`\b\d+-core\b`)
	separator = regexp.MustCompile(`[^a-z0-9+.]+`)
	// noise are words that drivers write or leave out.
	noise = map[string]bool{"nvidia": true, "geforce": true, "tesla": true, "quadro": true, "amd": true, "ati": true, "radeon": true, "instinct": true,
		"intel": true, "fujitsu": true, "ibm": true, "aws": true, "arm": true, "cpu": true, "gpu": true, "apu": true, "processor": true, "accelerator": true,
		"graphics": true, "generation": true, "edition": true, "with": true, "of": true, "one": true, "gcd": true, "oam": true}
	// joined are names that are also written in two words or with another mark.
	joined = strings.NewReplacer("rtx ", "rtx", "gtx ", "gtx", "rx ", "rx", " gb ", "gb ", "sxm2", "sxm", "sxm3", "sxm", "sxm4", "sxm", "sxm5", "sxm")
)

// words are what tells a name from others.
func words(name string) map[string]bool {
	s := trademark.ReplaceAllString(strings.ToLower(name), " ")
	s, _, _ = strings.Cut(s, "@")
	s = separator.ReplaceAllString(cores.ReplaceAllString(s, " "), " ")
	set := map[string]bool{}
	for _, w := range strings.Fields(joined.Replace(s + " ")) {
		if !noise[w] {
			set[w] = true
		}
	}
	return set
}

// nearest are the three names that share most letters in sequence with a name,
// by pairs of neighbouring letters (Dice's coefficient), if they share a third.
func nearest(name string) []string {
	asked := pairs(name)
	type near struct {
		name string
		like float64
	}
	var ns []near
	for _, d := range table() {
		best := 0.0
		for _, n := range append([]string{d.Name}, d.Also...) {
			has := pairs(n)
			common := 0
			for p := range asked {
				if has[p] {
					common++
				}
			}
			if len(asked)+len(has) > 0 {
				best = max(best, 2*float64(common)/float64(len(asked)+len(has)))
			}
		}
		if best >= 1./3 {
			ns = append(ns, near{d.Name, best})
		}
	}
	slices.SortStableFunc(ns, func(a, b near) int { return cmp.Compare(b.like, a.like) })
	var names []string
	for _, n := range ns[:min(3, len(ns))] {
		names = append(names, n.name)
	}
	return names
}

func pairs(name string) map[string]bool {
	set := map[string]bool{}
	for w := range words(name) {
		w = "^" + w + "$"
		for i := range len(w) - 1 {
			set[w[i:i+2]] = true
		}
	}
	return set
}

// IsUnknown tells whether an error says that the table has no such device.
func IsUnknown(err error) bool {
	var e *UnknownError
	return errors.As(err, &e)
}
