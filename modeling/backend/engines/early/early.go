// Package early keeps go-xla quiet where it has nothing to say to us. go-xla
// looks for folders of plugins while the program starts, and complains on
// standard error if there is no home directory or no /etc/ld.so.conf; plugins
// are searched by package backend here. It does not look when
// PJRT_PLUGIN_LIBRARY_PATH is set, so it is set until it has started.
//
// Packages are initialised in the order of their import paths, when all that
// they import is (Go specification, Package initialization). This one imports
// nothing but os, go-xla's packages wait for k8s.io/klog, which comes later.
package early

import "os"

const variable = "PJRT_PLUGIN_LIBRARY_PATH"

var set bool

func init() {
	if _, ok := os.LookupEnv(variable); ok {
		return
	}
	_, noHome := os.UserHomeDir()
	_, noConfig := os.Stat("/etc/ld.so.conf")
	if noHome != nil || noConfig != nil {
		set = os.Setenv(variable, "/usr/local/lib/go-xla") == nil
	}
}

// Over takes the variable away again, if it was set here.
func Over() {
	if set {
		_ = os.Unsetenv(variable)
		set = false
	}
}
