package jupyter

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// WatchParent returns when the process pid, which started us, has ended, or
// when ctx is done; it reports whether the parent has ended. A Jupyter server
// that is killed cannot shut its kernels down.
func WatchParent(ctx context.Context, pid int) bool {
	direct := os.Getppid() == pid // else a wrapper stands between us
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if direct && os.Getppid() != pid {
			return true
		}
		if !direct && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}
