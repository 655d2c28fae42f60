package collectors

import "crypto/sha256"

// summer takes the SHA-256 of what is read beside the reading: one block is
// summed while the next one is filled.
type summer struct {
	hash   interface{ Write([]byte) (int, error) }
	result func() []byte
	block  []byte        // being filled
	busy   []byte        // being summed
	done   chan struct{} // closed when busy is summed; nil before the first
}

// summerBlock is large enough that handing it over costs nothing.
const summerBlock = 256 << 10

func newSummer() *summer {
	h := sha256.New()
	return &summer{hash: h, result: func() []byte { return h.Sum(nil) }}
}

func (s *summer) write(p []byte) {
	s.block = append(s.block, p...)
	if len(s.block) < summerBlock {
		return
	}
	s.wait()
	s.block, s.busy = s.busy[:0], s.block
	done := make(chan struct{})
	s.done = done
	go func(block []byte) { // ends by itself, also where nobody asks for the sum
		_, _ = s.hash.Write(block) // a hash has no errors
		close(done)
	}(s.busy)
}

func (s *summer) wait() {
	if s.done != nil {
		<-s.done
		s.done = nil
	}
}

// sum is the sum of everything that was written.
func (s *summer) sum() []byte {
	s.wait()
	_, _ = s.hash.Write(s.block)
	s.block = s.block[:0]
	return s.result()
}
