package llvm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// attached matches the metadata behind an instruction.
var attached = regexp.MustCompile(`, !([A-Za-z_.][\w.]*) !(\d+|\{\})`)

// parseInstr reads one instruction.
func parseInstr(text string) (*Instr, error) {
	in := &Instr{Debug: -1}
	if d := debugRef.FindStringSubmatch(text); d != nil {
		in.Debug, _ = strconv.Atoi(d[1])
	}
	text = attached.ReplaceAllString(text, "")
	in.Text = text
	ts, err := lex(text)
	if err != nil {
		return nil, err
	}
	c := &cursor{ts: ts}
	if len(ts) > 2 && ts[1].text == "=" {
		in.Result = c.next()
		c.next()
	}
	in.Op = c.next()
	for in.Op == "tail" || in.Op == "musttail" || in.Op == "notail" {
		in.Op = c.next()
	}
	if err := in.parse(c); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Op, err)
	}
	if binary := group(in.Op); (binary == "int" || binary == "bit" || binary == "float" && in.Op != "fneg") && len(in.args) != 2 {
		return nil, fmt.Errorf("%s: it needs 2 operands and has %d", in.Op, len(in.args))
	}
	return in, nil
}

func (in *Instr) parse(c *cursor) (err error) {
	switch in.Op {
	case "ret":
		if in.typ, err = c.parseType(1); err == nil && in.typ.kind != 'v' {
			err = in.operand(c)
		}
	case "br":
		if c.peek() == "label" {
			c.next()
			in.labels = []string{label(c.next())}
			return nil
		}
		if in.typ, err = c.parseType(1); err != nil {
			return err
		}
		err = in.operand(c)
		in.allLabels(c)
	case "switch", "indirectbr":
		if in.typ, err = c.parseType(1); err != nil {
			return err
		}
		err = in.operand(c)
		in.allLabels(c)
	case "unreachable", "fence", "resume", "cleanupret", "catchret", "catchswitch", "catchpad", "cleanuppad", "landingpad", "va_arg":
		in.allLabels(c)
	case "call", "invoke", "callbr":
		err = in.call(c)
	case "load":
		in.modifiers(c, "volatile", "atomic")
		if in.typ, err = c.parseType(1); err != nil {
			return err
		}
		if !c.accept(",") {
			return errors.New("expected a pointer after the type")
		}
		err = in.typed(c)
	case "store":
		in.modifiers(c, "volatile", "atomic")
		if err = in.typed(c); err != nil {
			return err
		}
		in.typ = in.types[0]
		if !c.accept(",") {
			return errors.New("expected a pointer after the value")
		}
		err = in.typed(c)
	case "cmpxchg", "atomicrmw":
		in.modifiers(c, "weak", "volatile")
		if in.Op == "atomicrmw" {
			c.next() // the operation
		}
		if err = in.typedList(c); err == nil && len(in.types) > 1 {
			in.typ = in.types[1]
		}
	case "alloca":
		in.modifiers(c, "inalloca", "swifterror")
		in.typ, err = c.parseType(1)
	case "getelementptr":
		in.modifiers(c, "inbounds", "nuw", "nusw", "inrange")
		c.skipParens()
		if in.typ, err = c.parseType(1); err != nil {
			return err
		}
		if !c.accept(",") {
			return errors.New("expected a pointer after the type")
		}
		err = in.typedList(c)
	case "phi":
		err = in.phi(c)
	case "icmp", "fcmp":
		for c.i < len(c.ts) && !c.atType() { // flags and the predicate
			c.next()
		}
		err = in.sameType(c)
	case "select":
		for c.i < len(c.ts) && !c.atType() {
			c.next()
		}
		if err = in.typedList(c); err == nil && len(in.types) > 1 {
			in.typ = in.types[1]
		}
	case "extractelement", "insertelement", "shufflevector", "extractvalue", "insertvalue":
		if err = in.typedList(c); err == nil && len(in.types) > 0 {
			in.typ = in.types[0]
		}
	default:
		if strings.HasSuffix(in.Op, "ext") || strings.HasSuffix(in.Op, "trunc") || strings.Contains(in.Op, "to") || in.Op == "bitcast" || in.Op == "addrspacecast" {
			return in.cast(c)
		}
		for c.i < len(c.ts) && !c.atType() { // nsw, nuw, exact, fast, ...
			c.next()
		}
		err = in.sameType(c)
	}
	return err
}

// atType says whether a type comes next.
func (c *cursor) atType() bool {
	at := *c
	_, err := at.parseType(1)
	return err == nil
}

func (in *Instr) modifiers(c *cursor, words ...string) {
	for {
		found := false
		for _, w := range words {
			found = c.accept(w) || found
		}
		if !found {
			return
		}
	}
}

func label(s string) string { return strings.TrimPrefix(s, "%") }

func (in *Instr) allLabels(c *cursor) {
	for c.i < len(c.ts) {
		if c.next() == "label" {
			in.labels = append(in.labels, label(c.next()))
		}
	}
}

// operand reads a value: a name, a constant, a constant expression.
func (in *Instr) operand(c *cursor) error {
	v, err := c.value()
	in.args = append(in.args, v)
	return err
}

func (c *cursor) value() (string, error) {
	t := c.next()
	switch t {
	case "":
		return "", errors.New("a value is missing")
	case "<", "[", "{":
		depth := 1
		for depth > 0 {
			switch c.next() {
			case "<", "[", "{", "(":
				depth++
			case ">", "]", "}", ")":
				depth--
			case "":
				return "", errors.New("a constant without its end")
			}
		}
		return "constant", nil
	case "c": // c"text"
		c.next()
		return "constant", nil
	case "asm":
		return "asm", nil
	case "splat":
		c.skipParens()
		return "constant", nil
	}
	if t[0] == '%' || t[0] == '@' || t[0] == '!' {
		return t, nil
	}
	// A constant expression: getelementptr inbounds (...), bitcast (...).
	start := c.i
	for c.peek() == "inbounds" || c.peek() == "nuw" || c.peek() == "nsw" || c.peek() == "nusw" || c.peek() == "exact" || c.peek() == "inrange" {
		if c.next() == "inrange" { // inrange(-16, 24)
			c.skipParens()
		}
	}
	if c.peek() == "(" && (t[0] >= 'a' && t[0] <= 'z') {
		from := c.i
		c.skipParens()
		for _, inner := range c.ts[from:min(c.i, len(c.ts))] { // the global that it is about
			if strings.HasPrefix(inner.text, "@") {
				return inner.text, nil
			}
		}
		return "constant", nil
	}
	c.i = start
	return t, nil
}

// parameterAttributes may stand between the type and the value of an argument.
var parameterAttributes = map[string]bool{"noundef": true, "nonnull": true, "noalias": true, "nocapture": true, "readonly": true, "readnone": true,
	"writeonly": true, "signext": true, "zeroext": true, "inreg": true, "returned": true, "nofree": true, "immarg": true, "nest": true, "swiftself": true,
	"swifterror": true, "allocptr": true, "allocalign": true, "noext": true, "inrange": true, "dead_on_unwind": true, "writable": true, "byval": true,
	"byref": true, "sret": true, "inalloca": true, "preallocated": true, "elementtype": true, "align": true, "dereferenceable": true,
	"dereferenceable_or_null": true, "captures": true, "range": true, "initializes": true, "nofpclass": true, "dead_on_return": true}

func (c *cursor) attributes() {
	for c.i < len(c.ts) && (parameterAttributes[c.peek()] || c.peek()[0] == '"') {
		t := c.next()
		if t == "align" && c.peek() != "(" {
			c.next()
		}
		if t[0] == '"' && c.accept("=") {
			c.next()
		}
		c.skipParens()
	}
}

func (in *Instr) typed(c *cursor) error {
	t, err := c.parseType(1)
	if err != nil {
		return err
	}
	c.attributes()
	in.types = append(in.types, t)
	return in.operand(c)
}

// typedList reads "T a, T b, ..." up to what is no typed value.
func (in *Instr) typedList(c *cursor) error {
	for {
		if err := in.typed(c); err != nil {
			return err
		}
		if !c.accept(",") || !c.atType() {
			return nil
		}
	}
}

// sameType reads "T a, b".
func (in *Instr) sameType(c *cursor) error {
	if err := in.typed(c); err != nil {
		return err
	}
	in.typ = in.types[0]
	for c.accept(",") {
		if err := in.operand(c); err != nil {
			return err
		}
	}
	return nil
}

// cast reads "T a to U".
func (in *Instr) cast(c *cursor) error {
	for c.i < len(c.ts) && !c.atType() { // nneg, nuw, fast
		c.next()
	}
	if err := in.typed(c); err != nil {
		return err
	}
	if !c.accept("to") {
		return fmt.Errorf("expected to, found %q", c.peek())
	}
	var err error
	in.typ, err = c.parseType(1)
	return err
}

func (in *Instr) phi(c *cursor) error {
	for c.i < len(c.ts) && !c.atType() {
		c.next()
	}
	var err error
	if in.typ, err = c.parseType(1); err != nil {
		return err
	}
	for c.accept("[") {
		if err := in.operand(c); err != nil {
			return err
		}
		if !c.accept(",") {
			return errors.New("expected a block after a phi's value")
		}
		in.labels = append(in.labels, label(c.next()))
		if !c.accept("]") {
			return errors.New("expected ] after a phi's block")
		}
		c.accept(",")
	}
	return nil
}

// call reads "[flags] T callee(T a, ...) ...".
func (in *Instr) call(c *cursor) error {
	for c.i < len(c.ts) && !c.atType() { // calling convention, fast-math flags, attributes of what is returned
		if c.next(); c.peek() == "(" {
			c.skipParens()
		}
	}
	// Types of functions may be written out, "i32 (ptr, ...) @printf(": they
	// end before the callee, so that the last ( ... ) is the arguments.
	t, err := c.parseType(1)
	if err != nil {
		return err
	}
	if c.peek() == "(" {
		c.skipParens()
		for c.accept("*") {
			continue
		}
	}
	in.typ = t
	if c.peek() == "asm" {
		in.callee = "asm"
		for c.i < len(c.ts) && c.peek() != "(" {
			c.next()
		}
	} else if in.callee, err = c.value(); err != nil {
		return err
	}
	if !c.accept("(") {
		return fmt.Errorf("expected ( after the callee, found %q", c.peek())
	}
	for !c.accept(")") {
		if c.i >= len(c.ts) {
			return errors.New("the arguments have no end")
		}
		if c.peek() == "metadata" {
			in.metadata(c)
		} else if c.peek() == "..." {
			c.next()
		} else if err := in.typed(c); err != nil {
			return err
		}
		c.accept(",")
	}
	in.allLabels(c)
	return nil
}

// metadata passes over an argument of type metadata.
func (in *Instr) metadata(c *cursor) {
	depth := 0
	for c.i < len(c.ts) {
		switch t := c.peek(); {
		case depth == 0 && (t == "," || t == ")"):
			return
		case t == "(" || t == "{" || t == "[" || t == "<":
			depth++
		case t == ")" || t == "}" || t == "]" || t == ">":
			depth--
		}
		c.next()
	}
}
