package llm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/llm"
)

func load(t *testing.T, toml string) (*llm.Settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "models.toml")
	if err := os.WriteFile(path, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return llm.LoadSettings(path)
}

func TestSettingsAreReadAndTheLongestPatternDecides(t *testing.T) {
	s, err := load(t, `
[models."openai:*"]
input = 3
output = 9.0
requests_per_minute = 60
key = { env = "A" }
[models."openai:gpt-5*"]
input = 2
idle = "90s"
[models."openai:gpt-5-mini"]
output = 1.5
server = "https://h/v1"
`)
	if err != nil {
		t.Fatal(err)
	}
	got := s.For("openai:gpt-5-mini")
	if *got.Input != 2 || *got.Output != 1.5 || *got.RequestsPerMinute != 60 || time.Duration(*got.Idle) != 90*time.Second || got.Key != nil || got.Cached != nil {
		t.Errorf("%+v", got)
	}
	if got = s.For("openai:other"); *got.Input != 3 || got.Idle != nil || got.Key == nil || got.Key.Env != "A" {
		t.Errorf("%+v", got)
	}
	if got = s.For("ollama:x"); got.Input != nil || got.Key != nil {
		t.Errorf("%+v", got)
	}
}

func TestSettingsThatAreWrongAreTold(t *testing.T) {
	for toml, says := range map[string]string{
		"[models.\"a:b\"]\nprice = 1":                                `there is no setting "models.a:b.price"`,
		"[models.\"a:b\"]\ninput = -1":                               "input = -1",
		"[models.\"a:b\"]\noutput = nan":                             "output = NaN",
		"[models.\"a:b\"]\ntokens_per_minute = 0":                    "tokens_per_minute = 0",
		"[models.\"a:*b\"]\ninput = 1":                               "a * may only end",
		"[models.\"a:b\"]\nkey = \"" + testKey + "\"":                "line 2",
		"[models.\"a:b\"]\nkey = " + testKey:                         "models.toml:2",
		"[models.\"a:b\"]\nkey = { env = \"A\", file = \"b\" }":      "expected one of key",
		"[models.\"a:b\"]\nkey = {}":                                 "expected one of key",
		"[models.\"a:b\"]\nkey = { value = \"" + testKey + "\" }":    "there is no setting",
		"[models.\"a:b\"]\nserver = \"https://x:" + testKey + "@h\"": "without a password",
		"[models.\"a:b\"]\nserver = \"h:80\"":                        "expected a URL",
		"[models.\"a:b\"]\nidle = \"soon\"":                          "models.toml",
		"[models.\"a:b\"]\nidle = \"0s\"":                            "above 0",
		"[models.\"a:b\"":                                            "models.toml:1",
	} {
		_, err := load(t, toml)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s\n%v", toml, err)
		}
	}
}

func TestAUserWithoutSettingsHasNone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	if s, err := llm.UserSettings(); err != nil || len(s.Models) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	path, err := llm.SettingsPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("[models.\"a:b\"]\ninput = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := llm.UserSettings(); err != nil || *s.For("a:b").Input != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
