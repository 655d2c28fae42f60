// scan --make N SEED FILE writes a picture of N x N numbers; scan IN OUT writes it
// blurred: PASSES times the mean over squares, which is close to a Gaussian. A file
// of a picture is N as int32 and then doubles.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scan.h"

#define PASSES 6
#define RADIUS 3

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
        double v = 255 * uniform(&x);
        if (fwrite(&v, sizeof v, 1, f) != 1)
            return fail(path);
    }
    return fclose(f) ? fail(path) : 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: scan --make N SEED FILE | scan IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t n;
    if (!in || fread(&n, sizeof n, 1, in) != 1 || n < 1 || n > 8192)
        return fail(argv[1]);
    size_t cells = (size_t)n * n;
    double *a = malloc(cells * sizeof *a);
    double *s = malloc(cells * sizeof *s);
    if (!a || !s || fread(a, sizeof *a, cells, in) != cells)
        return fail(argv[1]);
    fclose(in);
    for (int p = 0; p < PASSES; p++) {
        along_rows(n, n, a, s);
        along_columns(n, n, s);
        means(n, n, RADIUS, s, a);
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(a, sizeof *a, cells, out) != cells || fclose(out))
        return fail(argv[2]);
    return 0;
}
