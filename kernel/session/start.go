package session

import "errors"

// Start begins a session and its host process.
func Start(opts Options) (Session, error) {
	return nil, errors.New("session: the engine is under construction")
}
