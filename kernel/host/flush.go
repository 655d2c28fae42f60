package host

// #include <stdio.h>
import "C"

// flushC writes out what C code printed: its buffers would otherwise come
// after the end of the cell.
func flushC() { C.fflush(nil) }
