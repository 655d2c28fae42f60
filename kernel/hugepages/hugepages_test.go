package hugepages_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/hugepages"
)

const tunables = "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"

// The test binary is the program that starts itself again, and says with what.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "restart" {
		hugepages.Restart()
		began, _ := os.ReadFile("/proc/self/environ") // what the program was started with, whatever became of it
		for v := range strings.SplitSeq(string(began), "\x00") {
			if value, ok := strings.CutPrefix(v, "GLIBC_TUNABLES="); ok {
				fmt.Print(value)
			}
		}
		fmt.Printf(" %d %s, %s%s", os.Getpid(), os.Args[1], os.Getenv("GLIBC_TUNABLES"), os.Getenv("ROOFLAB_HUGEPAGES"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// without is the environment without the variables at issue.
func without() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "GLIBC_TUNABLES=") || strings.HasPrefix(s, "ROOFLAB_HUGEPAGES=")
	})
}

func TestRestartSetsTheVariableOnceForThisProcessAloneAndKeepsTheUsers(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	glibc := err == nil && strings.Contains(string(maps), "/libc.so.6\n")
	want := ""
	if glibc {
		want = tunables
	}
	for _, c := range []struct{ set, want, inherited string }{
		{"", want, ""},
		{"GLIBC_TUNABLES=" + tunables, tunables, ""}, // as a host of cells is started
		{"GLIBC_TUNABLES=glibc.malloc.check=0", "glibc.malloc.check=0", "glibc.malloc.check=0"},
		{"GLIBC_TUNABLES=", "", ""},     // the user wants none
		{"ROOFLAB_HUGEPAGES=1", "", ""}, // it did not come through: not again
	} {
		cmd := exec.Command(os.Args[0], "restart")
		cmd.Env = without()
		if c.set != "" {
			cmd.Env = append(cmd.Env, c.set)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", c.set, err)
		}
		if got := fmt.Sprintf("%s %d restart, %s", c.want, cmd.Process.Pid, c.inherited); string(out) != got {
			t.Errorf("with %q: %q, want %q", c.set, out, got)
		}
	}
}

func TestEnvironmentKeepsTheUsers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("glibc is Linux's")
	}
	given := append(make([]string, 0, 4), "A=1")
	if got := hugepages.Environment(given); !slices.Equal(got, []string{"A=1", "GLIBC_TUNABLES=" + tunables}) {
		t.Errorf("%q", got)
	}
	if spare := given[:2]; spare[1] != "" {
		t.Errorf("wrote %q behind the caller's slice", spare[1])
	}
	if got := hugepages.Environment([]string{"GLIBC_TUNABLES=", "A=1"}); !slices.Equal(got, []string{"GLIBC_TUNABLES=", "A=1"}) {
		t.Errorf("%q", got)
	}
}
