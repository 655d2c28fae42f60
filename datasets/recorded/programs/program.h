// What the programs share: a size from the command line, memory, and numbers
// that look random and are the same everywhere.
#ifndef PROGRAM_H
#define PROGRAM_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL __attribute__((noinline))

static uint32_t state = 2463534242u;

static uint32_t next(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static inline double real(void) { return next() / 4294967296.0; }

static inline void *memory(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

static inline double *reals(long n)
{
    double *p = memory(n * sizeof *p);
    for (long i = 0; i < n; i++)
        p[i] = real();
    return p;
}

static inline long size(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    if (n < 1) {
        fprintf(stderr, "usage: %s SIZE\n", argv[0]);
        exit(2);
    }
    return n;
}
#endif
