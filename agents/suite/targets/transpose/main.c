// transpose --make N SEED FILE writes a random matrix; transpose IN OUT writes what
// ROUNDS rounds of smoothing make of it, each along the rows and along the
// columns. A file of a matrix is N as int32 and then doubles.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transpose.h"

#define ROUNDS 6

static int fail(const char *what)
{
    perror(what);
    return 1;
}

// uniform is uniform from 0 to 1: xorshift64 (Marsaglia 2003).
static double uniform(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (double)(*x >> 11) / 9007199254740992.0;
}

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    if (!f || fwrite(&size, sizeof size, 1, f) != 1)
        return fail(path);
    uint64_t x = seed * 2654435769u + 88172645463325252u;
    for (int i = 0; i < n * n; i++) {
        double v = uniform(&x);
        if (fwrite(&v, sizeof v, 1, f) != 1)
            return fail(path);
    }
    return fclose(f) ? fail(path) : 0;
}

// smooth replaces each number of a row by the mean with its neighbour.
static void smooth(int n, double *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n - 1; j++)
            a[i * n + j] = 0.5 * (a[i * n + j] + a[i * n + j + 1]);
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: transpose --make N SEED FILE | transpose IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t n;
    if (!in || fread(&n, sizeof n, 1, in) != 1 || n < 1 || n > 8192)
        return fail(argv[1]);
    size_t cells = (size_t)n * n;
    double *a = malloc(cells * sizeof *a);
    double *b = malloc(cells * sizeof *b);
    if (!a || !b || fread(a, sizeof *a, cells, in) != cells)
        return fail(argv[1]);
    fclose(in);
    for (int r = 0; r < ROUNDS; r++) {
        smooth(n, a);
        transpose(n, a, b);
        smooth(n, b);
        transpose(n, b, a);
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(a, sizeof *a, cells, out) != cells || fclose(out))
        return fail(argv[2]);
    return 0;
}
