package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/kernel/host"
	"github.com/rooflab/rooflab/kernel/hugepages"
)

func init() { register(newHostCmd) }

// newHostCmd is the process in which cells run. Sessions start it with a
// command pipe on descriptor 3 and an event pipe on descriptor 4.
func newHostCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Run the cells of one session (started by the kernel, not by hand)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			hugepages.Kept() // what cells start, and perhaps measure, runs without
			in, out := os.NewFile(3, "commands"), os.NewFile(4, "events")
			if _, err := out.Stat(); err != nil {
				return fmt.Errorf("the session host is started by a session; to run cells use `rooflab repl`, `rooflab run` or `rooflab lab`")
			}
			return host.Main(in, out)
		},
	}
}
