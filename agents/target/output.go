package target

// Format is how an output holds its values, as package validate reads them.
type Format string

// Formats. Numbers are little-endian, one after the other.
const (
	FormatBytes   Format = "bytes" // bit for bit
	FormatText    Format = "text"  // lines; numbers in them are compared as numbers where there is a tolerance
	FormatFloat32 Format = "float32"
	FormatFloat64 Format = "float64"
)

// Formats lists them all.
func Formats() []Format {
	return []Format{FormatBytes, FormatText, FormatFloat32, FormatFloat64, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
}

// Output is something that a run puts out and that must be as the reference's.
type Output struct {
	Stdout    bool       `toml:"stdout"`
	File      string     `toml:"file"`      // below the folder that the program runs in
	Format    Format     `toml:"format"`    // FormatBytes where it is not said
	Tolerance *Tolerance `toml:"tolerance"` // nil: bit for bit
	Ignore    []string   `toml:"ignore"`    // regular expressions; lines of a text that one of them matches are not compared
}

// Name is the file, or "standard output".
func (o Output) Name() string {
	if o.Stdout {
		return "standard output"
	}
	return o.File
}

// Tolerance is how far a number may be from the reference's. Relative and
// Absolute may stand together, ULP stands alone. What is nil is not said.
//
//	absolute             |got - want| <= absolute
//	relative             |got - want| <= relative |want|
//	both (scaled)        |got - want| <= absolute + relative |want|   (numpy.allclose)
//	ulp                  at most so many floating-point numbers of the format lie from one to the other
type Tolerance struct {
	Relative *float64 `toml:"relative"`
	Absolute *float64 `toml:"absolute"`
	ULP      *int64   `toml:"ulp"`
}
