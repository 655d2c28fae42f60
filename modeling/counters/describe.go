package counters

// Description is what a counter means.
type Description struct {
	Text   string // one sentence without a full stop; "" where the name is not known
	Unit   string // of the value as the tool counts it; "" where unknown
	Source string // who counts so: "NVIDIA", "AMD", "perf", "PAPI", "callgrind"
}

// Describe says what a counter means, by its name.
func Describe(name string) Description { return Description{} }
