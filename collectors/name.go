package collectors

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Demangle returns the C++ or Rust name that a linker's symbol stands for
// (Itanium ABI, Rust legacy and v0), and any other name as it is.
func Demangle(symbol string) string {
	if !strings.HasPrefix(symbol, "_Z") && !strings.HasPrefix(symbol, "_R") && !strings.HasPrefix(symbol, "__Z") {
		return symbol
	}
	// At most 2^16 characters: nested templates of a few bytes can stand for gigabytes.
	name, err := demangle.ToString(symbol, demangle.MaxLength(16))
	if err != nil {
		return symbol
	}
	return name
}

// ShortName reduces the name of a function or kernel to what all tools agree
// on: no return type, namespaces, template arguments or parameters.
//
//	void ns::gemm<float, 32>(float const*, int)   gemm
//	(anonymous namespace)::saxpy(int)             saxpy
//	_Z5saxpyifPKfPf                               saxpy
//	gemm_kernel [clone .kd]                       gemm_kernel
func ShortName(raw string) string {
	name := strings.TrimSpace(raw)
	name = Demangle(name)
	if i := strings.Index(name, " [clone"); i > 0 {
		name = name[:i]
	}
	name = strings.TrimSuffix(name, ".kd")
	name = cutHash(name)
	name = cutParameters(name)
	name = cutTemplate(name)
	name = lastPart(name)
	if name == "" {
		return strings.TrimSpace(raw)
	}
	return name
}

// cutHash cuts the hash that Rust's legacy mangling puts behind a path.
func cutHash(s string) string {
	i := strings.LastIndex(s, "::h")
	if i <= 0 || len(s)-i != len("::h")+16 || strings.Trim(s[i+3:], "0123456789abcdef") != "" {
		return s
	}
	return s[:i]
}

// cutParameters cuts the parameter list: the first parenthesis outside
// brackets that follows a name.
func cutParameters(s string) string {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '{', '[':
			depth++
		case '>', '}', ']':
			if depth > 0 { // a cut "<unnamed>" leaves its end alone
				depth--
			}
		case '(':
			before := strings.TrimRight(s[:i], " ")
			switch {
			case depth > 0:
				depth++
			case strings.HasPrefix(s[i:], "(anonymous"), strings.HasSuffix(before, "."): // a method of Go: pkg.(*T).m
				depth++
			case strings.HasSuffix(before, "operator") && strings.HasPrefix(s[i:], "()"):
				i++ // operator() is the name itself
			case before != "" && !strings.HasSuffix(before, "::"):
				return before
			default:
				depth++
			}
		case ')':
			if depth > 0 {
				depth--
			}
		}
	}
	return s
}

// cutTemplate cuts the template arguments at the end.
func cutTemplate(s string) string {
	if !strings.HasSuffix(s, ">") || strings.HasSuffix(s, "operator>") || strings.HasSuffix(s, "operator->") {
		return s
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '>':
			depth++
		case '<':
			if depth--; depth == 0 {
				if i == 0 {
					return s
				}
				return strings.TrimRight(s[:i], " ")
			}
		}
	}
	return s
}

// lastPart cuts return type and namespaces.
func lastPart(s string) string {
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '{', '[':
			depth++
		case '>', ')', '}', ']':
			if depth > 0 {
				depth--
			}
		case ' ':
			if depth == 0 && !strings.HasSuffix(s[:i], "operator") {
				start = i + 1
			}
		case ':':
			if depth == 0 && i+1 < len(s) && s[i+1] == ':' {
				start = i + 2
				i++
			}
		}
	}
	return strings.TrimLeft(s[start:], "*&")
}
