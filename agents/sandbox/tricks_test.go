package sandbox_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Ways that lead outside are known by where they lead, not by how they begin.
func TestWaysOutAreFollowed(t *testing.T) {
	o := run(t, func(c *sandbox.Command) { c.Watch = &sandbox.Watch{} }, "ways")
	var tried []string
	for _, a := range o.Attempts {
		tried = append(tried, a.Kind+" "+a.Path)
	}
	want := []string{"write /usr/planted1", "write /usr/planted2", "write /usr/planted3", "write /etc/planted4", "write /dev/planted5", "write /planted6"}
	if !slices.Equal(tried, want) {
		t.Errorf("tried %q, want %q", tried, want)
	}
}

func TestLookingForOutputsThatAreNotMadeIsTold(t *testing.T) {
	o := run(t, func(c *sandbox.Command) { c.Watch = &sandbox.Watch{Outputs: []string{"out/a.bin", "b.bin"}} }, "look")
	var tried []string
	for _, a := range o.Attempts {
		tried = append(tried, a.Kind+" "+a.Path)
	}
	// c.bin is no output, and b.bin may be read once it is there. The way through
	// /proc is the same file again.
	want := []string{"look /work/b.bin", "look /work/out/a.bin", "look /tmp/a.bin", "look /reference/b.bin"}
	if !slices.Equal(tried, want) {
		t.Errorf("tried %q, want %q", tried, want)
	}
}

// What a caller shows is none of the secrets that lie around it, and writing to a
// secret is writing.
func TestSecretsAreWhatIsNotShown(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/a", nil, 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	change := func(c *sandbox.Command) {
		c.Watch = &sandbox.Watch{Secrets: []string{"/inputs"}}
		c.ReadOnly = []sandbox.Mount{{From: dir, At: "/inputs/shown"}}
	}
	if o := run(t, change, "read", "/inputs/shown/a"); len(o.Attempts) > 0 || string(o.Stdout) != "read: done\n" {
		t.Errorf("%v, %s", o.Attempts, o.Stdout)
	}
	if o := run(t, change, "read", "/inputs/hidden"); len(o.Attempts) != 1 || o.Attempts[0].Kind != "read" {
		t.Errorf("%v", o.Attempts)
	}
	if o := run(t, change, "outside", "/inputs"); len(o.Attempts) == 0 || o.Attempts[0].Kind != "write" || o.Attempts[0].Path != "/inputs/planted" {
		t.Errorf("%v", o.Attempts)
	}
}

// Holes take no memory inside and would take the disk of this machine.
func TestFilesWithHolesDoNotFillTheDisk(t *testing.T) {
	kept := t.TempDir()
	change := func(c *sandbox.Command) { c.Keep, c.Limits.Disk = kept, 8<<20 }
	o := run(t, change, "holes", "4")
	if o.End != sandbox.FileLimit || !strings.Contains(o.Why, "more than 8388608 bytes together") {
		t.Errorf("%v", o)
	}
	if entries, err := os.ReadDir(kept); err != nil || len(entries) > 0 {
		t.Errorf("copied were %v, %v", entries, err)
	}
	if o := run(t, func(c *sandbox.Command) { change(c); c.KeepOnly = []string{"hole1"} }, "holes", "4"); !o.OK() {
		t.Errorf("of one file: %v", o)
	}
}

func TestFoldersWithinFoldersAreNotWalkedWithoutEnd(t *testing.T) {
	o := run(t, limits(sandbox.Limits{Disk: 64 << 20}), "deep", "3000")
	// The first is the folder at which it stopped, with 200 others around it; the second the program.
	if !o.OK() || len(o.Files) != 2 || o.Files[0].Path != strings.Repeat("d/", 200)+"d" {
		t.Errorf("%v, %d files", o, len(o.Files))
	}
}
