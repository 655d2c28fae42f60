package sandbox_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Eight times as many loops as CPUs want to run; one that sleeps wants nothing.
func TestWaitingForACPUIsNotWaiting(t *testing.T) {
	shell := func(script string) sandbox.Outcome {
		return run(t, func(c *sandbox.Command) { c.Argv = []string{"/bin/sh", "-c", script} })
	}
	o := shell(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do (while :; do :; done) & i=$((i+1)); done
i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`, 8*runtime.NumCPU()))
	if o.Code != 0 { // the loops end with it
		t.Fatalf("%v: %s", o, o.Stderr)
	}
	_, err := os.Stat("/proc/self/schedstat")
	if known := err == nil; known != (o.Delayed > 0) || o.Delayed > o.Wall {
		t.Errorf("among busy loops: delayed for %v of %v; the kernel says it: %v", o.Delayed, o.Wall, known)
	}
	o = shell("exec sleep 0.1")
	// Processor time counts what the process took before it began, too: some ms.
	if left := o.Wall - o.Delayed - o.User - o.System; left < 50*time.Millisecond {
		t.Errorf("it slept for 100 ms, and %v of %v are left beside %v of delay", left, o.Wall, o.Delayed)
	}
}
