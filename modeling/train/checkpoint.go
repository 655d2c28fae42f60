package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Tensor is a named block of numbers, little-endian, row after row. DType is
// in safetensors' notation: F32, F64, BF16, I64, U64 ...
type Tensor struct {
	Name  string
	DType string
	Dims  []int
	Data  []byte
}

// State is everything that training changes: weights, the optimiser's
// moments and the state of random generators.
type State []Tensor

var dtypeBytes = map[string]int{"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "F64": 8, "I64": 8, "U64": 8}

func (t Tensor) check() error {
	size, ok := dtypeBytes[t.DType]
	if !ok {
		return fmt.Errorf("tensor %s has the unknown type %q", t.Name, t.DType)
	}
	n := size
	for _, d := range t.Dims {
		if d < 0 || (d > 0 && n > math.MaxInt/d) {
			return fmt.Errorf("tensor %s has impossible dimensions %v", t.Name, t.Dims)
		}
		n *= d
	}
	if n != len(t.Data) {
		return fmt.Errorf("tensor %s, %s of dimensions %v, takes %d bytes, there are %d", t.Name, t.DType, t.Dims, n, len(t.Data))
	}
	return nil
}

// WriteFile writes tensors and a text as a safetensors file, which Python's
// safetensors reads as well. The file appears whole or not at all: it is
// written beside path, synced and renamed. The SHA-256 of header and data is
// in the header.
func WriteFile(path string, tensors State, text string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the checkpoint %s: %w; earlier checkpoints are as they were", path, err)
		}
	}()
	tensors = slices.Clone(tensors)
	sort.Slice(tensors, func(i, j int) bool { return tensors[i].Name < tensors[j].Name })
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header := map[string]any{}
	at := 0
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return err
		}
		if _, twice := header[t.Name]; twice || t.Name == metadata || t.Name == "" {
			return fmt.Errorf("%q is no name, or one that is there twice", t.Name)
		}
		header[t.Name] = entry{t.DType, append([]int{}, t.Dims...), [2]int{at, at + len(t.Data)}}
		at += len(t.Data)
	}
	header[metadata] = map[string]string{"format": "pt", "rooflab": text}
	bare, err := json.Marshal(header)
	if err != nil {
		return err
	}
	sum := sha256.New()
	sum.Write(bare)
	for _, t := range tensors {
		sum.Write(t.Data)
	}
	header[metadata] = map[string]string{"format": "pt", "rooflab": text, "sha256": hex.EncodeToString(sum.Sum(nil))}
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	head = append(head, bytes.Repeat([]byte(" "), (8-len(head)%8)%8)...)
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := binary.Write(f, binary.LittleEndian, uint64(len(head))); err != nil {
		return err
	}
	if _, err := f.Write(head); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := f.Write(t.Data); err != nil {
			return err
		}
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path)) // the rename itself must survive a power cut
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

const metadata = "__metadata__"

// ReadFile reads what WriteFile wrote, and verifies it.
func ReadFile(path string) (tensors State, text string, err error) {
	defer func() {
		if err != nil {
			tensors, text, err = nil, "", fmt.Errorf("reading the checkpoint %s: %w", path, err)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	var n uint64
	if err := binary.Read(f, binary.LittleEndian, &n); err != nil || n > uint64(info.Size())-8 {
		return nil, "", fmt.Errorf("it is damaged: %d bytes are no safetensors file", info.Size())
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, "", err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(head, &raw); err != nil {
		return nil, "", fmt.Errorf("it is damaged: its header is no JSON: %w", err)
	}
	var meta map[string]string
	if err := json.Unmarshal(raw[metadata], &meta); err != nil || meta["sha256"] == "" {
		return nil, "", errors.New("it is damaged, or none of rooflab's: the header has no checksum")
	}
	want := meta["sha256"]
	delete(meta, "sha256")
	if raw[metadata], err = json.Marshal(meta); err != nil {
		return nil, "", err
	}
	bare, err := json.Marshal(raw)
	if err != nil {
		return nil, "", err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	sum.Write(bare)
	sum.Write(data)
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return nil, "", fmt.Errorf("it is damaged: its checksum begins with %.12s, want %.12s", got, want)
	}
	for name, r := range raw {
		if name == metadata {
			continue
		}
		var e struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(r, &e); err != nil {
			return nil, "", fmt.Errorf("tensor %s: %w", name, err)
		}
		if e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > len(data) {
			return nil, "", fmt.Errorf("tensor %s lies at %v of %d bytes", name, e.Offsets, len(data))
		}
		t := Tensor{name, e.DType, e.Shape, data[e.Offsets[0]:e.Offsets[1]:e.Offsets[1]]}
		if err := t.check(); err != nil {
			return nil, "", err
		}
		tensors = append(tensors, t)
	}
	sort.Slice(tensors, func(i, j int) bool { return tensors[i].Name < tensors[j].Name })
	return tensors, meta["rooflab"], nil
}

// Fit says what of a state does not fit a model whose own state is want:
// names that are missing or too many, other types and dimensions.
func (s State) Fit(want State) error {
	have := map[string]Tensor{}
	for _, t := range s {
		have[t.Name] = t
	}
	var wrong []string
	for _, w := range want {
		t, ok := have[w.Name]
		switch {
		case !ok:
			wrong = append(wrong, w.Name+" is missing")
		case t.DType != w.DType || !slices.Equal(t.Dims, w.Dims):
			wrong = append(wrong, fmt.Sprintf("%s is %s %v, the model has %s %v", w.Name, t.DType, t.Dims, w.DType, w.Dims))
		}
		delete(have, w.Name)
	}
	for _, t := range s { // in order, unlike the map
		if _, extra := have[t.Name]; extra {
			wrong = append(wrong, t.Name+" is not in the model")
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	const shown = 5
	more := ""
	if len(wrong) > shown {
		more = fmt.Sprintf("; and %d more", len(wrong)-shown)
		wrong = wrong[:shown]
	}
	return fmt.Errorf("the state is of another model: %s%s", strings.Join(wrong, "; "), more)
}

// floats is a vector as a tensor.
func floats(name string, xs []float64) Tensor {
	t := Tensor{Name: name, DType: "F64", Dims: []int{len(xs)}, Data: make([]byte, 0, 8*len(xs))}
	for _, x := range xs {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, math.Float64bits(x))
	}
	return t
}

func (t Tensor) floats() []float64 {
	xs := make([]float64, len(t.Data)/8)
	for i := range xs {
		xs[i] = math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:]))
	}
	return xs
}
