package jupyter

import (
	"errors"
	"sync"

	"github.com/rooflab/rooflab/kernel/session"
)

// engine holds the session, which begins in the background: kernel_info and
// the like answer before it is there.
type engine struct {
	start func() (session.Session, error)

	starting sync.Mutex // held while start runs

	mu     sync.Mutex
	sess   session.Session
	closed bool
}

var errEnding = errors.New("the kernel is shutting down")

// get returns the session, starting it when there is none.
func (e *engine) get() (session.Session, error) {
	e.starting.Lock()
	defer e.starting.Unlock()
	e.mu.Lock()
	sess, closed := e.sess, e.closed
	e.mu.Unlock()
	if closed {
		return nil, errEnding
	}
	if sess != nil {
		return sess, nil
	}
	sess, err := e.start()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed { // asked to end while it was starting
		return nil, errors.Join(errEnding, sess.Close())
	}
	e.sess = sess
	return sess, nil
}

// running returns the session if it has started, else nil.
func (e *engine) running() session.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sess
}

// close ends the session; one that is still starting is closed when it has.
func (e *engine) close() error {
	e.mu.Lock()
	e.closed = true
	sess := e.sess
	e.sess = nil
	e.mu.Unlock()
	if sess == nil {
		e.starting.Lock() // wait for a start in progress, which closes it
		defer e.starting.Unlock()
		return nil
	}
	return sess.Close()
}
