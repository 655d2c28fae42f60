package llm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// KeySource says where a key is: one of its fields is set.
type KeySource struct {
	Env  string `toml:"env"`  // an environment variable
	File string `toml:"file"` // a file that holds nothing else
	// Command prints it, such as a keychain's: secret-tool lookup service openai,
	// security find-generic-password -w -s openai, pass show openai.
	Command []string `toml:"command"`
}

func (k KeySource) String() string {
	switch {
	case k.Env != "":
		return "$" + k.Env
	case k.File != "":
		return "the file " + k.File
	case len(k.Command) > 0:
		return "the command " + k.Command[0] // its arguments are nobody's business
	}
	return "nowhere"
}

func (k KeySource) check() error {
	n := 0
	for _, set := range []bool{k.Env != "", k.File != "", len(k.Command) > 0} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New(`expected one of key = { env = "NAME" }, { file = "PATH" }, { command = ["PROGRAM", "ARGUMENT", ...] }`)
	}
	return nil
}

// keyTimeout is long, as a keychain may ask its user.
const keyTimeout = 2 * time.Minute

func (k KeySource) read(ctx context.Context) (string, error) {
	var key string
	switch {
	case k.Env != "":
		key = os.Getenv(k.Env)
	case k.File != "":
		raw, err := os.ReadFile(k.File)
		if err != nil {
			return "", fmt.Errorf("reading a key: %w", err)
		}
		key = string(raw)
	default:
		ctx, cancel := context.WithTimeout(ctx, keyTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, k.Command[0], k.Command[1:]...)
		cmd.Stdin = os.Stdin // it may ask for a password
		cmd.WaitDelay = time.Second
		raw, err := cmd.Output()
		if err != nil { // what it printed may hold the key
			return "", fmt.Errorf("reading a key from %s: it failed: %w", k, err)
		}
		key = string(raw)
	}
	key = strings.TrimSpace(key)
	for _, c := range key {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return "", fmt.Errorf("reading a key from %s: it holds a character that no key has (a space, a quote, a line of something else?); expected the key alone", k)
		}
	}
	switch {
	case key == "":
		return "", fmt.Errorf("reading a key from %s: there is none", k)
	case len(key) < minKey:
		return "", fmt.Errorf("reading a key from %s: it has fewer than %d characters; so short a key could not be told from other text, to keep it out of errors and records", k, minKey)
	}
	return key, nil
}

const minKey = 8

// secret is a key that is read when it is first needed. It holds it in a
// function, so that no printing of what holds the secret can show it.
type secret func(ctx context.Context) (string, error)

func newSecret(from KeySource) secret {
	var mu sync.Mutex
	key := ""
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if key == "" {
			k, err := from.read(ctx)
			if err != nil {
				return "", err
			}
			key = k
		}
		return key, nil
	}
}

// scrub takes a key out of a text.
func scrub(s, key string) string {
	if key == "" {
		return s
	}
	return strings.ReplaceAll(s, key, "[key]")
}
