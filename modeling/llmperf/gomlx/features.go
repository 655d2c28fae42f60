package gomlx

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// features keeps what frozen layers made of sequences, width numbers for each
// token, in a file that has no name and goes when it is closed.
type features struct {
	f     *os.File
	width int
	at    map[string]int64 // of a sequence's ids: where in f
	end   int64
}

func newFeatures(width int) (*features, error) {
	f, err := os.CreateTemp("", "rooflab-features-")
	if err != nil {
		return nil, fmt.Errorf("making a file for what frozen layers compute: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("making a file for what frozen layers compute: %w", err)
	}
	return &features{f: f, width: width, at: map[string]int64{}}, nil
}

// read copies those of a sequence to the beginning of to. Where they are not
// kept yet, compute makes them.
func (s *features) read(ids []int32, to []float32, compute func(ids []int32) ([]float32, error)) error {
	key := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	at, ok := s.at[string(key)]
	raw := make([]byte, 4*len(ids)*s.width)
	if !ok {
		made, err := compute(ids)
		if err != nil {
			return err
		}
		for i, v := range made {
			binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
		}
		if _, err := s.f.WriteAt(raw, s.end); err != nil {
			return fmt.Errorf("keeping what they compute (the folder for temporary files, TMPDIR, should have room for %d bytes a token): %w", 4*s.width, err)
		}
		s.at[string(key)], s.end = s.end, s.end+int64(len(raw))
		copy(to, made)
		return nil
	}
	if _, err := s.f.ReadAt(raw, at); err != nil {
		return fmt.Errorf("reading what was kept of them: %w", err)
	}
	for i := range len(ids) * s.width {
		to[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

func (s *features) close() {
	if s != nil {
		s.f.Close() // nothing is to be kept of it
	}
}
