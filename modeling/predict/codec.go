package predict

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
)

// format and version head every file of a predictor.
const (
	format  = "rooflab predictor"
	version = 1
)

var (
	mu     sync.Mutex
	codecs = map[string]Codec{}
)

// Register makes the Models of a kind (Description.Kind) known to Load. It
// panics when the kind is taken.
func Register(kind string, decode Codec) {
	mu.Lock()
	defer mu.Unlock()
	if _, dup := codecs[kind]; dup || kind == "" || decode == nil {
		panic("predict: the kind " + kind + " is registered twice, or has no name or no decoder")
	}
	codecs[kind] = decode
}

// file is a predictor as it is written. SHA256 is that of the compact JSON of
// Body.
type file struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Body    json.RawMessage `json:"predictor"`
}

type body struct {
	Model    json.RawMessage `json:"model"`
	Scores   []float64       `json:"scores"`
	Groups   []string        `json:"groups"`
	Interval string          `json:"interval"`
	Data     string          `json:"data"`
	Warnings []string        `json:"warnings,omitempty"`
}

// Save writes a predictor as JSON. Its Model must be a json.Marshaler whose
// kind is registered. What Load reads predicts the same, bit by bit.
func Save(w io.Writer, f *Fitted) error {
	kind := f.Model.Describe().Kind
	model, err := Encode(f.Model)
	if err != nil {
		return fmt.Errorf("saving a predictor: %w", err)
	}
	b, err := json.Marshal(body{model, f.scores, f.groups, f.interval, f.data, f.warnings})
	if err != nil {
		return fmt.Errorf("saving a predictor of the kind %q: %w", kind, err)
	}
	sum := sha256.Sum256(b)
	e := json.NewEncoder(w)
	if err := e.Encode(file{format, version, hex.EncodeToString(sum[:]), b}); err != nil {
		return fmt.Errorf("saving a predictor of the kind %q: %w", kind, err)
	}
	return nil
}

// Load reads what Save wrote. A file of something else, of another version,
// cut short or changed is an error.
func Load(r io.Reader) (*Fitted, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("loading a predictor: %w", err)
	}
	var f file
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("loading a predictor: the file is no whole JSON (%w): it was cut short, or is something else", err)
	}
	if f.Format != format {
		return nil, fmt.Errorf("loading a predictor: the file's format is %q, want %q", f.Format, format)
	}
	if f.Version != version {
		return nil, fmt.Errorf("loading a predictor: the file has version %d, this program reads %d: fit it again, or use the program that wrote it", f.Version, version)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.Body); err != nil {
		return nil, fmt.Errorf("loading a predictor: %w", err)
	}
	if sum := sha256.Sum256(compact.Bytes()); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("loading a predictor: the SHA-256 of its content is %x and the file says %s: it was changed after it was written", sum, f.SHA256)
	}
	var b body
	if err := json.Unmarshal(f.Body, &b); err != nil {
		return nil, fmt.Errorf("loading a predictor: %w", err)
	}
	if len(b.Scores) != len(b.Groups) || slices.ContainsFunc(b.Scores, func(s float64) bool { return !(s >= 0) || math.IsInf(s, 0) }) {
		return nil, errors.New("loading a predictor: the scores of its intervals are not whole")
	}
	model, err := Decode(b.Model)
	if err != nil {
		return nil, fmt.Errorf("loading a predictor: %w", err)
	}
	return &Fitted{Model: model, scores: b.Scores, groups: b.Groups, interval: b.Interval, data: b.Data, warnings: b.Warnings}, nil
}

// kinded is a Model as it is written.
type kinded struct {
	Kind  string          `json:"kind"`
	Model json.RawMessage `json:"model"`
}

// Encode writes a Model, for Models that are made of others.
func Encode(m Model) (json.RawMessage, error) {
	kind := m.Describe().Kind
	mu.Lock()
	_, known := codecs[kind]
	mu.Unlock()
	j, ok := m.(json.Marshaler)
	if !ok || !known {
		return nil, fmt.Errorf("models of the kind %q cannot be written: the package must register it and give its model MarshalJSON", kind)
	}
	raw, err := j.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("writing a model of the kind %q: %w", kind, err)
	}
	return json.Marshal(kinded{kind, raw})
}

// Decode reads what Encode wrote.
func Decode(raw json.RawMessage) (Model, error) {
	var k kinded
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("reading a model: %w", err)
	}
	mu.Lock()
	decode, ok := codecs[k.Kind]
	var kinds []string
	for name := range codecs {
		kinds = append(kinds, name)
	}
	mu.Unlock()
	if !ok {
		slices.Sort(kinds)
		return nil, fmt.Errorf("the kind of model %q is not known, only %s: import the package that fits it", k.Kind, strings.Join(kinds, ", "))
	}
	m, err := decode(k.Model)
	if err != nil {
		return nil, fmt.Errorf("reading a model of the kind %q: %w", k.Kind, err)
	}
	return m, nil
}
