package csource

// Pos is where a node stands: its line, from 1, and its offset in bytes from
// the start of the text. What comes out of a macro stands where the macro does.
type Pos struct{ Line, Offset int32 }

// At is the position itself.
func (p Pos) At() Pos { return p }

// Class is what kind of type a Type is.
type Class uint8

const (
	Unknown Class = iota // a name that nothing declares
	Void
	Integer
	Floating
	Pointer
	Array
	Struct
)

// Space is an address space.
type Space uint8

const (
	Private Space = iota
	Local
	Global
	Constants
)

func (s Space) String() string { return [...]string{"private", "local", "global", "constant"}[s] }

// Type is a type of C. Types compare by their fields, not by identity.
type Type struct {
	Class    Class
	Bytes    int // of one scalar; of the whole for structs
	Width    int // lanes of a vector, 1 for scalars
	Unsigned bool
	Ref      bool  // a reference of C++
	Space    Space // where a variable of this type lives; for pointers, what they point at
	Elem     *Type // of pointers and arrays
	Len      Expr  // of arrays; nil where it is not given
	Name     string
	Fields   []Field
}

// Field is a member of a struct.
type Field struct {
	Name   string
	Type   *Type
	Offset int
}

// Size is a type's size in bytes; arrays whose length is no literal count as
// one element.
func (t *Type) Size() int {
	switch t.Class {
	case Pointer:
		return 8
	case Array:
		n, ok := Constant(t.Len)
		if !ok || n < 1 || n > 1<<30 {
			n = 1
		}
		return int(min(n*int64(t.Elem.Size()), 1<<40))
	case Struct:
		return max(t.Bytes, 1)
	case Void:
		return 1
	}
	w := max(t.Width, 1)
	if w == 3 {
		w = 4 // OpenCL C 6.1.5: a vector of three has the size of one of four
	}
	return max(t.Bytes, 1) * w
}

// Expr is an expression, Stmt a statement.
type (
	Expr interface{ At() Pos }
	Stmt interface{ At() Pos }
)

// Expressions. Slot is that of a variable of the function, -1 for other names.
type (
	Ident struct {
		Pos
		Name string
		Slot int
	}
	IntLit struct {
		Pos
		Value    int64
		Unsigned bool
		Long     bool
	}
	FloatLit struct {
		Pos
		Value  float64
		Single bool
	}
	StringLit struct {
		Pos
		Text string
	}
	Unary struct { // op is one of + - ! ~ * & ++ --, or p++ and p-- behind the operand
		Pos
		Op string
		X  Expr
		ID int // of the access that * is
	}
	Binary struct {
		Pos
		Op   string
		X, Y Expr
	}
	Assign struct { // Op is "" for =, + for += and so on
		Pos
		Op   string
		L, R Expr
	}
	Conditional struct {
		Pos
		Cond, Then, Else Expr
	}
	Call struct {
		Pos
		Fun   Expr
		Name  string // where Fun is a name
		Types []*Type
		Args  []Expr
		ID    int
	}
	Index struct {
		Pos
		X, I Expr
		ID   int
	}
	Member struct {
		Pos
		X     Expr
		Name  string
		Arrow bool
		ID    int
	}
	Cast struct {
		Pos
		Type *Type
		X    Expr
	}
	Vector struct { // (float4)(a, b), make_float4(a, b), T{a, b}
		Pos
		Type *Type
		Args []Expr
	}
	SizeOf struct {
		Pos
		Type *Type // nil where X is asked about
		X    Expr
	}
	List struct { // { a, b } as an initialiser
		Pos
		Items []Expr
	}
	BadExpr struct{ Pos }
)

// Variable is one declared variable.
type Variable struct {
	Pos
	Name string
	Type *Type
	Slot int
	Init Expr
}

// Statements.
type (
	Declare struct {
		Pos
		Vars []*Variable
	}
	Evaluate struct {
		Pos
		X Expr
	}
	If struct {
		Pos
		Cond       Expr
		Then, Else Stmt
	}
	// Loop is a for, while or do; Cond nil is true. Unroll tells of a pragma
	// that asks for unrolling in the line above.
	Loop struct {
		Pos
		Init   Stmt
		Cond   Expr
		Step   Expr
		Body   Stmt
		Do     bool
		Unroll bool
		ID     int
	}
	Switch struct {
		Pos
		X     Expr
		Cases []Case
	}
	Block struct {
		Pos
		List []Stmt
	}
	Return struct {
		Pos
		X Expr
	}
	Break    struct{ Pos }
	Continue struct{ Pos }
	Bad      struct { // a statement that was not understood
		Pos
		Text string
	}
)

// Case is one label of a switch with what follows it up to the next.
type Case struct {
	Values []Expr // none for default
	Body   []Stmt
	Stops  bool // ends with break or return
}

// Function is a function with its body.
type Function struct {
	Pos
	Name   string
	Kernel bool
	Result *Type
	Params []*Variable
	Types  []string // template parameters
	Slots  int
	Body   *Block
	End    int32 // line of the closing brace
}

// Unit is a text that was read.
type Unit struct {
	Dialect   Dialect
	Functions []*Function
	Globals   map[string]*Variable
	Enums     map[string]int64
	Nodes     int // ids of accesses, calls and loops are below
	Lines     int
	unrolls   map[int32]bool // lines with such a pragma
	Problems  []Problem
}

// Problem is something that was not understood.
type Problem struct {
	Line int
	Text string
}

// Find is a function by name, nil where there is none. Of several with that
// name a kernel is preferred, then the first.
func (u *Unit) Find(name string) *Function {
	var found *Function
	for _, f := range u.Functions {
		if f.Name == name && (found == nil || f.Kernel && !found.Kernel) {
			found = f
		}
	}
	return found
}

// Kernels are the names of kernels in the order of the text.
func (u *Unit) Kernels() []string {
	var names []string
	for _, f := range u.Functions {
		if f.Kernel {
			names = append(names, f.Name)
		}
	}
	return names
}

// Constant is the value of an expression of integer literals.
func Constant(e Expr) (int64, bool) {
	switch e := e.(type) {
	case *IntLit:
		return e.Value, true
	case *Cast:
		if e.Type.Class == Integer {
			return Constant(e.X)
		}
	case *Unary:
		v, ok := Constant(e.X)
		if !ok {
			return 0, false
		}
		switch e.Op {
		case "-":
			return -v, true
		case "+":
			return v, true
		case "~":
			return ^v, true
		case "!":
			return truth(v == 0), true
		}
	case *Conditional:
		c, ok := Constant(e.Cond)
		if !ok {
			return 0, false
		}
		if c != 0 {
			return Constant(e.Then)
		}
		return Constant(e.Else)
	case *SizeOf:
		if e.Type != nil {
			return int64(e.Type.Size()), true
		}
	case *Binary:
		a, ok := Constant(e.X)
		if !ok {
			return 0, false
		}
		switch {
		case e.Op == "&&" && a == 0:
			return 0, true
		case e.Op == "||" && a != 0:
			return 1, true
		}
		b, ok := Constant(e.Y)
		if !ok {
			return 0, false
		}
		return Fold(e.Op, a, b)
	}
	return 0, false
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Fold is a op b in 64 bit, not ok where C leaves it undefined.
func Fold(op string, a, b int64) (int64, bool) {
	switch op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		if b == 0 {
			return 0, false
		}
		return a / b, true
	case "%":
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case "<<":
		if b < 0 || b > 63 {
			return 0, false
		}
		return a << b, true
	case ">>":
		if b < 0 || b > 63 {
			return 0, false
		}
		return a >> b, true
	case "&":
		return a & b, true
	case "|":
		return a | b, true
	case "^":
		return a ^ b, true
	case "<":
		return truth(a < b), true
	case ">":
		return truth(a > b), true
	case "<=":
		return truth(a <= b), true
	case ">=":
		return truth(a >= b), true
	case "==":
		return truth(a == b), true
	case "!=":
		return truth(a != b), true
	case "&&":
		return truth(a != 0 && b != 0), true
	case "||":
		return truth(a != 0 || b != 0), true
	}
	return 0, false
}
