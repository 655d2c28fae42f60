// stencil --make N SEED FILE writes a plate of N x N cells: conductivities, then
// temperatures; stencil IN OUT writes the temperatures after STEPS steps. A file
// of a plate is N as int32 and then doubles.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stencil.h"

#define STEPS 10

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
    for (int i = 0; i < 2 * n * n; i++) {
        double v = i < n * n ? 0.2 + uniform(&x) : 300 * uniform(&x);
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
        fprintf(stderr, "usage: stencil --make N SEED FILE | stencil IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t n;
    if (!in || fread(&n, sizeof n, 1, in) != 1 || n < 3 || n > 8192)
        return fail(argv[1]);
    size_t cells = (size_t)n * n;
    double *k = malloc(cells * sizeof *k);
    double *u = malloc(cells * sizeof *u);
    double *v = malloc(cells * sizeof *v);
    if (!k || !u || !v || fread(k, sizeof *k, cells, in) != cells || fread(u, sizeof *u, cells, in) != cells)
        return fail(argv[1]);
    fclose(in);
    memcpy(v, u, cells * sizeof *v);
    double h = 1.0 / (n - 1), dt = 0.15 * h * h;
    for (int s = 0; s < STEPS; s += 2) {
        step(n, dt, h, k, u, v);
        step(n, dt, h, k, v, u);
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(u, sizeof *u, cells, out) != cells || fclose(out))
        return fail(argv[2]);
    return 0;
}
