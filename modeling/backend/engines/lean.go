package engines

import (
	"os"
	"strings"

	"github.com/gomlx/go-xla/pjrt"
)

// leanFlag has XLA's CPU compiler order a program's steps for least memory
// instead of most concurrency: each step uses all cores as it is. A training
// step of an encoder of 4 layers takes a tenth less memory, and less time.
const leanFlag = "xla_cpu_enable_concurrency_optimized_scheduler"

// lean sets leanFlag for CPU plugins of the versions that were seen to have it
// (an unknown flag ends the process), unless the user has set it in XLA_FLAGS.
// XLA reads the variable once, with its first client.
func lean(plugin string) {
	const oldest, newest = 104, 115 // minor versions of the C API
	p, err := pjrt.GetPlugin(plugin)
	if err != nil || !p.IsCPU() {
		return // what is wrong with it, opening it says
	}
	flags := os.Getenv("XLA_FLAGS")
	if major, minor := p.Version(); major != 0 || minor < oldest || minor > newest || strings.Contains(flags, leanFlag) {
		return
	}
	_ = os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" --"+leanFlag+"=false"))
}
