// Package sandbox runs programs that nobody has read. In flow a command, the
// files that it gets and limits; out flow how it ended, what it printed, what it
// left in its work folder, what it used and what it tried that it may not.
//
// A command sees a file system of its own: the system's programs and libraries
// and what its caller names, read-only; an empty /tmp; and a work folder in
// memory, whose files are copied out once all of its processes are gone. It has
// no network, no privileges and no environment but the one that it is given. Its
// processes, memory, files, output and time are bounded, and all of its
// processes end with it.
//
// Open finds the way in that the machine allows (Namespaces or Bubblewrap) and
// refuses where there is none: a command is never run without a sandbox unless
// Unconfined was asked for, and each Outcome says how it was run.
//
// Time is taken by the process that starts the command, from just before the
// command's first instruction until the last of its processes is gone. Nothing
// that runs inside can change it, whatever it does to its own clock.
//
// The program that calls Run is started again as the first process of the
// sandbox: its main calls ServeIfAsked before anything else.
package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Mechanism is how a command is kept apart.
type Mechanism string

const (
	// Namespaces are made by the kernel directly. A caller that is root runs
	// commands as the user nobody; any other caller runs them as itself, which
	// inside is called user 0 and has no privileges.
	Namespaces Mechanism = "namespaces"
	// Bubblewrap lets the program bwrap make them, where an ordinary user may not
	// (bwrap is setuid, or has a profile in AppArmor).
	Bubblewrap Mechanism = "bubblewrap"
	// Unconfined does without: for code that is trusted. Only time and output are
	// bounded. It is never chosen by itself.
	Unconfined Mechanism = "unconfined"
)

// Work is the folder of a command in the sandbox, where it starts.
const Work = "/work"

// Copy puts a file or a folder of this machine into the work folder, before
// the command begins. Files keep their times, which make looks at. Symbolic
// links stay what they are; what is neither file nor folder nor link is left
// out. A later Copy replaces files of an earlier one.
type Copy struct {
	From string   // on this machine
	To   string   // relative to the work folder; "" is the work folder itself
	Skip []string // names of files and folders that are left out, patterns as of path.Match
}

// Mount shows a file or folder of this machine in the sandbox, read-only. User
// nobody must be able to read it where the caller is root.
type Mount struct {
	From string // on this machine
	At   string // absolute, in the sandbox; not under Work or /tmp
}

// Limits bound a command. In each 0 is the default.
type Limits struct {
	Wall         time.Duration // default 60 s
	CPU          time.Duration // of each process, whole seconds; default Wall times the number of CPUs
	Memory       int64         // resident bytes of all processes together, seen by looking; default 4 GiB
	AddressSpace int64         // bytes of each process; default 4 times Memory, none with a GPU; below 0 none
	FileSize     int64         // bytes of each file, default Disk
	Disk         int64         // bytes in the work folder, and as many in each of /tmp and /dev/shm; default 1 GiB; held in memory
	Processes    int           // processes and threads at one time, default 256
	Files        int           // open files of each process, default 1024
	Output       int64         // bytes kept of each of standard output and error, default 1 MiB; more ends the command
}

// Command is what to run.
type Command struct {
	// Argv is the command; a name without a slash is looked for in the PATH of the
	// sandbox, one with a slash is relative to the work folder.
	Argv []string
	Dir  string // relative to the work folder
	// Env is added to PATH (/usr/local/bin:/usr/bin:/bin), HOME and TMPDIR (/tmp)
	// and LC_ALL (C.UTF-8). Nothing else of this process's environment is seen.
	Env      []string
	Stdin    []byte
	Put      []Copy
	ReadOnly []Mount
	Keep     string   // folder of this machine into which the work folder is copied afterwards; "" copies nothing
	KeepOnly []string // the files to copy, as paths in the work folder; nil copies all
	Limits   Limits
	GPU      bool // the nodes of NVIDIA's and AMD's devices are there, with the permissions that they have
	Watch    *Watch
}

// Watch asks for what a command tries and may not do: to open for writing,
// make, remove or rename a file outside of the work folder and /tmp, and to open
// a socket to a network. It costs some 10 µs for each such call, so it is not for
// runs that are timed.
type Watch struct {
	// Secrets are paths that the command should not know of; trying to open one,
	// or anything below it, is reported. They are compared as the command names
	// them and as links lead, and are no protection: what is not to be read is not in
	// the sandbox. What ReadOnly shows is none. Other openings for reading cost a
	// call each, too, where there are any.
	Secrets []string
	// Outputs are the files that the command is to make, as paths in the work folder.
	// Trying to read one that is not there yet, or a file of the same name outside of
	// the work folder, is reported: who computes has nothing to look for.
	Outputs []string
	shown   []string // paths of ReadOnly
}

// Attempt is something that a command tried and may not.
type Attempt struct {
	Call string // the system call
	Kind string // "write", "read" (of a secret), "look" (for an output) or "network"
	Path string // as it was resolved in the sandbox; the address family for a network
}

func (a Attempt) String() string {
	switch a.Kind {
	case "network":
		return fmt.Sprintf("tried to open a network socket (%s)", a.Path)
	case "read":
		return fmt.Sprintf("tried to read %s (%s)", a.Path, a.Call)
	case "look":
		return fmt.Sprintf("looked for the output %s, which was not made yet (%s)", a.Path, a.Call)
	}
	return fmt.Sprintf("tried to write to %s (%s)", a.Path, a.Call)
}

// End is how a command ended.
type End string

const (
	Exited       End = "exited"        // by itself, with a status
	Signalled    End = "signal"        // by a signal that is none of those below
	TimedOut     End = "timeout"       // Limits.Wall
	CPULimit     End = "cpu limit"     // Limits.CPU
	OutputLimit  End = "output limit"  // Limits.Output
	MemoryLimit  End = "memory limit"  // Limits.Memory, or its best guess: see Outcome.Guess
	ProcessLimit End = "process limit" // Limits.Processes
	FileLimit    End = "file limit"    // Limits.FileSize
)

// Outcome is how a command ended and what it did.
type Outcome struct {
	End    End
	Code   int            // exit status; -1 unless the command exited by itself
	Signal syscall.Signal // what ended it, 0 where none did
	Guess  bool           // End is inferred from the signal and the messages
	Why    string         // what is known of the end, in words; "" where it exited by itself

	Wall         time.Duration // until all of its processes were gone
	User, System time.Duration // of all processes
	// Delayed is how long the first thread of the command was ready to go on while
	// others had the CPUs; 0 where the kernel does not say.
	Delayed time.Duration
	// MaxRSS is the resident memory of the largest process at its peak, in bytes.
	// Seen says that it is the most that was seen by looking (at least every 100
	// ms) rather than the kernel's last word; 0 is unknown.
	MaxRSS    int64
	Seen      bool
	TreeRSS   int64 // bytes of all processes at one time, the most that was seen
	Processes int   // processes and threads at one time, the most that was seen
	Spawned   int   // processes and threads that were made, the first included (if threads of the sandbox's own ended meanwhile, some more); 0 is unknown

	LeftBehind int  // processes that still ran when the command itself had ended
	DiskFull   bool // the work folder or /tmp had no room left at the end
	Watched    bool // Attempts are known
	Attempts   []Attempt
	// Stdout and Stderr are cut at Limits.Output.
	Stdout, Stderr []byte
	Files          []File // in the work folder afterwards, in order of their paths
	Mechanism      Mechanism
	Limits         Limits // as they were in force
}

// File is a regular file that a command left.
type File struct {
	Path string // relative to the work folder, with slashes
	Size int64
}

// OK reports whether the command ended by itself with status 0.
func (o Outcome) OK() bool { return o.End == Exited && o.Code == 0 }

// File finds a file by its path.
func (o Outcome) File(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(o.Files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return o.Files[i], true
}

// String says how the command ended: "exit status 3", "timeout: ...".
func (o Outcome) String() string {
	switch {
	case o.End == Exited:
		return fmt.Sprintf("exit status %d", o.Code)
	case o.Why == "":
		return string(o.End)
	}
	return string(o.End) + ": " + o.Why
}

// StartError says that a command could not be started in the sandbox.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("starting %s in the sandbox: %v", e.Program, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }
