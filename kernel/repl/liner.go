package repl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/peterh/liner"
)

// Liner is the Editor of a real terminal, with a history file.
type Liner struct {
	state   *liner.State
	history string
}

// HistoryFile is where the terminal's history lives: rooflab/history in
// $XDG_STATE_HOME, which defaults to ~/.local/state.
func HistoryFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the history file: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "rooflab", "history"), nil
}

// OpenLiner takes over the terminal and reads the history file; an empty name
// keeps no history. Close gives the terminal back.
func OpenLiner(history string) (*Liner, error) {
	l := &Liner{state: liner.NewLiner(), history: history}
	l.state.SetCtrlCAborts(true)
	l.state.SetTabCompletionStyle(liner.TabPrints)
	if history == "" {
		return l, nil
	}
	f, err := os.Open(history)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		_, err = l.state.ReadHistory(f)
		f.Close()
	}
	if err != nil {
		l.state.Close()
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	return l, nil
}

// Close writes the history and gives the terminal back.
func (l *Liner) Close() error {
	err := l.state.Close()
	if l.history == "" {
		return err
	}
	if herr := l.writeHistory(); herr != nil {
		return errors.Join(err, fmt.Errorf("writing the history: %w", herr))
	}
	return err
}

func (l *Liner) writeHistory() error {
	if err := os.MkdirAll(filepath.Dir(l.history), 0o700); err != nil {
		return err
	}
	// 0600: what people type is nobody else's business.
	f, err := os.OpenFile(l.history, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = l.state.WriteHistory(f)
	return errors.Join(err, f.Close())
}

// Prompt implements Editor.
func (l *Liner) Prompt(prompt string) (string, error) {
	defer keysOnly()()
	return aborted(l.state.Prompt(prompt))
}

// Password implements Editor.
func (l *Liner) Password(prompt string) (string, error) {
	defer keysOnly()()
	return aborted(l.state.PasswordPrompt(prompt))
}

// AppendHistory implements Editor.
func (l *Liner) AppendHistory(line string) { l.state.AppendHistory(line) }

// SetCompleter implements Editor.
func (l *Liner) SetCompleter(f func(string, int) (string, []string, string)) {
	l.state.SetWordCompleter(f)
}

func aborted(line string, err error) (string, error) {
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", ErrAborted
	}
	return line, err
}
