package repl

import (
	"os"

	"golang.org/x/sys/unix"
)

// keysOnly makes Ctrl-C a key instead of a signal until the returned function
// is called. The line editor does so too, but only after it has shown the
// prompt: a Ctrl-C typed in between would be a signal, which drops what was
// typed and gives up nothing.
func keysOnly() (restore func()) {
	fd := int(os.Stdin.Fd())
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {} // no terminal: there are no keys
	}
	keys := *mode
	keys.Lflag &^= unix.ISIG
	_ = unix.IoctlSetTermios(fd, unix.TCSETS, &keys)
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, mode) }
}
