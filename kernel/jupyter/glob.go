package jupyter

// glob reports whether all of text matches pattern: * is any run, ? any one
// character and [a-z], [^a-z] one of a set, as in SQL's GLOB, which the
// protocol's history search comes from. Unlike path.Match, * and ? match
// slashes too, and a [ without ] stands for itself.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	pi, ti := 0, 0
	star, mark := -1, 0 // last *, and where in text its run ends
	for ti < len(t) {
		if pi < len(p) && p[pi] == '*' {
			star, mark = pi, ti
			pi++
			continue
		}
		if pi < len(p) {
			if n, ok := matchOne(p[pi:], t[ti]); ok {
				pi += n
				ti++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		pi, ti = star+1, mark
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// matchOne matches one character against the head of p and says how much of p
// that took.
func matchOne(p []rune, c rune) (n int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		if n, ok, closed := matchSet(p, c); closed {
			return n, ok
		}
	}
	return 1, p[0] == c
}

func matchSet(p []rune, c rune) (n int, ok, closed bool) {
	i := 1
	negate := i < len(p) && (p[i] == '^' || p[i] == '!')
	if negate {
		i++
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return i + 1, ok != negate, true
		}
		low, high := p[i], p[i]
		if i+2 < len(p) && p[i+1] == '-' && p[i+2] != ']' {
			high = p[i+2]
			i += 2
		}
		ok = ok || low <= c && c <= high
		i++
	}
	return 0, false, false
}
