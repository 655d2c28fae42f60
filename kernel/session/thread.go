package session

import "runtime"

func lockThread() { runtime.LockOSThread() }
