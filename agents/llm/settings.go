package llm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Settings are what a user says about models, in a TOML file of his own:
//
//	[models."openai:gpt-5*"]       # the longer of two patterns decides
//	input = 1.25                   # US dollars per million tokens of a prompt
//	cached = 0.125                 # of those read from the provider's cache; without it they cost as much as the others
//	output = 10.0                  # of an answer, with what the model thinks
//	requests_per_minute = 500
//	tokens_per_minute = 30000      # in and, at most, out
//	key = { command = ["secret-tool", "lookup", "service", "openai"] }
//
//	[models."openai:qwen*"]
//	server = "https://llm.example.org/v1"
//	key = { file = "/home/me/.config/llm-example.key" }
//	idle = "10m"                   # how long the server may say nothing
//
//	[models."ollama:*"]
//	input = 0.0                    # a price that nobody gave is not known, and never 0
//	output = 0.0
//
// A key goes to the server of its section, or, where that names none, to the
// provider's own. Without a section a provider's own service gets the key of
// the usual variable: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or
// GOOGLE_API_KEY.
type Settings struct {
	Models map[string]Setting `toml:"models"` // by name, such as "openai:gpt-5", or by its beginning and a "*"
}

// Setting is what is said about one model; nil is not said.
type Setting struct {
	Input             *float64   `toml:"input"`
	Cached            *float64   `toml:"cached"`
	Written           *float64   `toml:"written"`
	Output            *float64   `toml:"output"`
	RequestsPerMinute *float64   `toml:"requests_per_minute"`
	TokensPerMinute   *float64   `toml:"tokens_per_minute"`
	Idle              *Duration  `toml:"idle"`
	Server            string     `toml:"server"`
	Key               *KeySource `toml:"key"`
}

// Duration is a time.Duration as text, such as "90s".
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// SettingsPath is where a user's settings are: rooflab/models.toml in the folder
// that the system has for configuration.
func SettingsPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("finding the settings of models: %w", err)
	}
	return filepath.Join(dir, "rooflab", "models.toml"), nil
}

// UserSettings reads the settings at SettingsPath. No file is no settings.
func UserSettings() (*Settings, error) {
	path, err := SettingsPath()
	if err != nil {
		return nil, err
	}
	s, err := LoadSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Settings{}, nil
	}
	return s, err
}

// LoadSettings reads a file of settings.
func LoadSettings(path string) (*Settings, error) {
	var s Settings
	meta, err := toml.DecodeFile(path, &s)
	if err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			// its long form quotes the line, which may hold a key in the wrong place
			return nil, fmt.Errorf("settings of models %s:%d: %s", path, at.Position.Line, cmp.Or(at.Message, "not as expected near "+at.LastKey))
		}
		return nil, fmt.Errorf("settings of models %s: %w", path, err)
	}
	if left := meta.Undecoded(); len(left) > 0 {
		return nil, fmt.Errorf("settings of models %s: there is no setting %q; a section is [models.\"PROVIDER:MODEL\"] with input, cached, written, output, requests_per_minute, tokens_per_minute, idle, server, key", path, strings.Join(left[0], "."))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		if err := s.Models[name].check(name); err != nil {
			return nil, fmt.Errorf("settings of models %s: [models.%q]: %w", path, name, err)
		}
	}
	return &s, nil
}

func (s Setting) check(pattern string) error {
	if at := strings.IndexByte(pattern, '*'); at >= 0 && at != len(pattern)-1 {
		return errors.New("a * may only end a pattern")
	}
	for _, f := range []struct {
		name  string
		value *float64
		least float64
	}{{"input", s.Input, 0}, {"cached", s.Cached, 0}, {"written", s.Written, 0}, {"output", s.Output, 0},
		{"requests_per_minute", s.RequestsPerMinute, 1e-6}, {"tokens_per_minute", s.TokensPerMinute, 1e-6}} {
		if f.value != nil && !(*f.value >= f.least && !math.IsInf(*f.value, 0)) {
			return fmt.Errorf("%s = %v: expected a number from %v on", f.name, *f.value, f.least)
		}
	}
	if s.Idle != nil && *s.Idle <= 0 {
		return fmt.Errorf("idle = %q: expected a time above 0", time.Duration(*s.Idle))
	}
	if s.Server != "" {
		u, err := url.Parse(s.Server)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
			return errors.New("server: expected a URL such as https://host/v1, without a password or a query")
		}
	}
	if s.Key != nil {
		if err := s.Key.check(); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	return nil
}

// For is what the settings say about a model: of several sections that fit, the
// one with the longest pattern that says something. Server and key go
// together: a section with a server takes no key from a shorter pattern.
func (s *Settings) For(name string) Setting {
	var out Setting
	if s == nil {
		return out
	}
	var fit []string
	for pattern := range s.Models {
		if start, star := strings.CutSuffix(pattern, "*"); pattern == name || star && strings.HasPrefix(name, start) {
			fit = append(fit, pattern)
		}
	}
	slices.SortFunc(fit, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(strings.TrimSuffix(a, "*")), len(strings.TrimSuffix(b, "*"))), strings.Compare(b, a))
	})
	for _, pattern := range fit {
		m := s.Models[pattern]
		out.Input, out.Cached = cmp.Or(m.Input, out.Input), cmp.Or(m.Cached, out.Cached)
		out.Written, out.Output = cmp.Or(m.Written, out.Written), cmp.Or(m.Output, out.Output)
		out.RequestsPerMinute = cmp.Or(m.RequestsPerMinute, out.RequestsPerMinute)
		out.TokensPerMinute = cmp.Or(m.TokensPerMinute, out.TokensPerMinute)
		out.Idle = cmp.Or(m.Idle, out.Idle)
		if m.Server != "" {
			out.Server, out.Key = m.Server, nil
		}
		out.Key = cmp.Or(m.Key, out.Key)
	}
	return out
}

// cost is the price of an answer in US dollars; nil where a price or a count is
// not known.
func (s Setting) cost(u Usage) *float64 {
	if s.Input == nil || s.Output == nil || u.Input == nil || u.Output == nil {
		return nil
	}
	plain := *u.Input
	total := 0.0
	for _, part := range []struct {
		count *int64
		price *float64
	}{{u.Cached, cmp.Or(s.Cached, s.Input)}, {u.Written, s.Written}} {
		if part.count == nil || *part.count == 0 {
			continue
		}
		if part.price == nil {
			return nil
		}
		plain -= *part.count
		total += float64(*part.count) * *part.price
	}
	if plain < 0 {
		return nil // counts that contradict each other
	}
	total = (total + float64(plain)**s.Input + float64(*u.Output)**s.Output) / 1e6
	return &total
}
