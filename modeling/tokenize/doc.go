// Package tokenize turns the source of kernels into token ids for models, and
// back: byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2, Radford et
// al. 2019) whose merges stay within the lexical tokens of C, C++, CUDA,
// OpenCL, LLVM IR, PTX and assembler.
//
// In flow texts; out flow Encodings: ids, the span of source behind each, and
// log2 of the number that it belongs to. The steps, in order:
//
//  1. Scan splits a text into pieces (scan.go and one file per language).
//  2. Normalize rewrites them where Options ask for it: comments, space,
//     names, numbers (normalize.go, rename*.go, number.go).
//  3. Encode gives the ids of each piece, by the merges that Train learned.
//  4. Sequence puts source, arguments and launch geometry into one input, cuts
//     the source to fit, and Pad makes a batch of plain slices.
//
// Every text can be encoded: all 256 bytes are tokens. Decode(Encode(x).IDs)
// is x where Options change nothing, and Normalize(x) otherwise; Normalize of
// what it returned changes nothing more.
//
// # Compared with Hugging Face tokenizers
//
// A tokenizer of Language Text has the pre-tokenisation of GPT-2 ("ByteLevel")
// and the same ids as Hugging Face's, into whose tokenizer.json it is written
// by WriteHuggingFace. testdata/peer.py trains, encodes and times both on the
// same texts:
//
//	ROOFLAB_TOKENIZE_OUT=/tmp/t go test -run TestWritePeerInput ./modeling/tokenize
//	go test -run '^$' -bench Encode -cpu 1 ./modeling/tokenize
//	pip install tokenizers && python modeling/tokenize/testdata/peer.py /tmp/t
package tokenize
