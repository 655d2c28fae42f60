package engines

/*
#include <stddef.h>

extern int malloc_trim(size_t pad) __attribute__((weak)); // glibc has it

static void rooflab_trim(void) {
	if (malloc_trim) malloc_trim(0);
}
*/
import "C"

// Trim gives memory that malloc keeps, and nobody uses, back to the system where
// the C library can: what a compiler leaves behind, some hundreds of MB, lies
// between what the program needs later, which does not fit there.
func Trim() { C.rooflab_trim() }
