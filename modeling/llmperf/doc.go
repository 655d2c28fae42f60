// Package llmperf predicts the run time of a kernel from its source, the
// arguments and the shape of a launch, by a transformer encoder that reads them
// as one sequence of tokens, after LLMPerf (Nguyen et al. 2025).
//
//	store -> FromStore -> []Example -> Fit -> Model -> Predict, Attribute
//
// In flow measured launches (Example); out flows a Model, which is a
// predict.Model: Table makes of examples what package predict, its intervals
// and its baselines work on. A launch that somebody describes by hand goes through
// Check first. A sequence (Encoder) is the normalised source, what is known of
// each argument, and the launch's sizes. Beside its id every
// token of a number carries the number's log2, and beside the sequence the
// network gets the counts that kernelcost finds in the text, unless
// Options.Text leaves it to the text alone.
//
// The target is the logarithm of the time in seconds, without bounds: what is
// shorter than a microsecond has its place like everything else. The network
// gives its mean and its scale, by a mean and a maximum over the tokens that are
// there; what pads a batch is not looked at, so that a prediction does not
// depend on what it is computed with.
//
// The package is thin: the network is built by an engine (GoMLX), which the
// session host has linked. Other programs add
//
//	import _ "github.com/rooflab/rooflab/modeling/llmperf/gomlx"
package llmperf
