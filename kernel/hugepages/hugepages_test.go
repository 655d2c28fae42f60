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

// The test binary is the program that starts itself again, and says with what.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "restart" {
		hugepages.Restart()
		fmt.Printf("%d %s %s", os.Getpid(), os.Getenv("GLIBC_TUNABLES"), os.Args[1])
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

func TestRestartSetsTheVariableOnceAndKeepsTheUsers(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	glibc := err == nil && strings.Contains(string(maps), "/libc.so.6\n")
	want := ""
	if glibc {
		want = "glibc.malloc.hugetlb=1"
	}
	for _, c := range []struct{ set, want string }{
		{"", want},
		{"GLIBC_TUNABLES=glibc.malloc.check=0", "glibc.malloc.check=0"},
		{"GLIBC_TUNABLES=", ""},     // the user wants none
		{"ROOFLAB_HUGEPAGES=1", ""}, // it did not come through: not again
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
		if got := fmt.Sprintf("%d %s restart", cmd.Process.Pid, c.want); string(out) != got {
			t.Errorf("with %q: %q, want %q", c.set, out, got)
		}
	}
}

func TestEnvironmentKeepsTheUsers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("glibc is Linux's")
	}
	given := append(make([]string, 0, 4), "A=1")
	if got := hugepages.Environment(given); !slices.Equal(got, []string{"A=1", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"}) {
		t.Errorf("%q", got)
	}
	if spare := given[:2]; spare[1] != "" {
		t.Errorf("wrote %q behind the caller's slice", spare[1])
	}
	if got := hugepages.Environment([]string{"GLIBC_TUNABLES=", "A=1"}); !slices.Equal(got, []string{"GLIBC_TUNABLES=", "A=1"}) {
		t.Errorf("%q", got)
	}
}
