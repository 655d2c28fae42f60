package syntax

// Kind is what a node is.
type Kind uint8

// Kinds. Kids of a node have fixed places, nil where there is nothing; those that
// are not said are in the order of the text.
const (
	Bad Kind = iota
	// Statements.
	Block
	Declare   // Kids are Declared
	Declared  // one variable: Var, Kids[0] its initial value or nil
	Evaluate  // Kids[0]
	For       // Kids: init (statement), condition, step, body
	While     // Kids: condition, body
	Do        // Kids: condition, body
	If        // Kids: condition, then, else
	Return    // Kids[0]
	Jump      // break, continue, goto, a label, case or default: Op
	Directive // a line for the preprocessor: Op is its text
	Empty
	// Expressions.
	Name        // Op, Var nil where nothing declares it
	Number      // Op is its text
	Literal     // a string or character
	Unary       // Op, Kids[0]
	Postfix     // Op ++ or --, Kids[0]
	Binary      // Op, Kids[0], Kids[1]; "," too
	Assign      // Op, Kids[0], Kids[1]
	Conditional // Kids: condition, then, else
	Call        // Kids[0] is what is called, then the arguments
	Index       // Kids[0][Kids[1]]
	Member      // Kids[0], then "." or "->" and a name: Op is all of it
	Cast        // Type, Kids[0]
	SizeOf
	List  // in braces
	Paren // Kids[0]
	Macro // Op is its name, Kids[0] what it stands for
)

// Node is a statement or an expression, the text from Start up to End.
type Node struct {
	Kind       Kind
	Start, End int // bytes
	Op         string
	Kids       []*Node
	Var        *Variable
	Type       *Type
	Std        bool // a Name that is written std::NAME: Op is NAME, Var is nil
}

// Kid is a kid by its place, nil where there is none.
func (n *Node) Kid(i int) *Node {
	if n == nil || i >= len(n.Kids) {
		return nil
	}
	return n.Kids[i]
}

// Bare is an expression without parentheses and macros around it.
func (n *Node) Bare() *Node {
	for n != nil && (n.Kind == Paren || n.Kind == Macro) && n.Kids[0] != nil {
		n = n.Kids[0]
	}
	return n
}

// Walk visits a node and, where visit says true, what is in it, in the order of
// Kids. Nil is not visited.
func Walk(n *Node, visit func(*Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, k := range n.Kids {
		Walk(k, visit)
	}
}

// Type is a type as it is declared.
type Type struct {
	Base     string // "double", "unsigned long", "struct cell"; "" where it is not understood
	Pointers int
	Dims     []*Node // lengths of an array, nil for one that is not said
	Const    bool    // of the base
	Restrict bool
	Static   bool
	Volatile bool
	Space    string // "global", "local", "constant", or ""
}

// Indirect reports whether the type is a pointer or an array.
func (t *Type) Indirect() bool { return t != nil && t.Pointers+len(t.Dims) > 0 }

// Variable is something that has a name and a type.
type Variable struct {
	Name   string
	Type   *Type
	Param  bool
	Global bool
	Enum   bool  // a constant of an enum
	Decl   *Node // of a local or global variable
	// Start and End are of the declarator; for a parameter of all of it.
	Start, End int
}

// Function is a function with its body.
type Function struct {
	Name       string
	Start, End int // from its first token to its closing brace
	NameStart  int
	Params     []*Variable
	Result     *Type
	Body       *Node
	Kernel     bool // of OpenCL or CUDA
	Static     bool
	Problems   []Problem
}

// Problem is something that was not understood.
type Problem struct {
	Offset int
	Text   string
}

// File is a text that was read.
type File struct {
	Text      string
	Functions []*Function
	Globals   map[string]*Variable
	Macros    map[string]bool
	lines     []int
}

// Line is the line of an offset, from 1.
func (f *File) Line(offset int) int {
	lo, hi := 0, len(f.lines)
	for lo < hi {
		if m := (lo + hi) / 2; f.lines[m] <= offset {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// Of is the text of a node.
func (f *File) Of(n *Node) string {
	if n == nil {
		return ""
	}
	return f.Text[n.Start:n.End]
}

// Find is a function by name, nil where there is none.
func (f *File) Find(name string) *Function {
	for _, fn := range f.Functions {
		if fn.Name == name {
			return fn
		}
	}
	return nil
}
