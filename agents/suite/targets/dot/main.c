// dot --make N SEED FILE writes VECTORS random vectors of N numbers; dot IN OUT
// writes all their scalar products. A file of vectors is N as int32 and then doubles.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dot.h"

#define VECTORS 160

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    if (!f || fwrite(&size, sizeof size, 1, f) != 1)
        return fail(path);
    uint64_t x = seed * 2654435769u + 88172645463325252u;
    for (long i = 0; i < (long)n * VECTORS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; // xorshift64 (Marsaglia 2003)
        double v = (double)(x >> 11) / 9007199254740992.0 - 0.5;
        if (fwrite(&v, sizeof v, 1, f) != 1)
            return fail(path);
    }
    return fclose(f) ? fail(path) : 0;
}

// g[i][j] is the scalar product of the vectors i and j, of m that lie one after
// the other: how far from orthogonal a basis is.
static void gram(int m, int n, const double *v, double *g)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            g[i * m + j] = dot(n, v + (long)i * n, v + (long)j * n);
            g[j * m + i] = g[i * m + j];
        }
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: dot --make N SEED FILE | dot IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t n;
    if (!in || fread(&n, sizeof n, 1, in) != 1 || n < 1 || n > 1000000)
        return fail(argv[1]);
    size_t cells = (size_t)n * VECTORS, pairs = (size_t)VECTORS * VECTORS;
    double *v = malloc(cells * sizeof *v);
    double *g = malloc(pairs * sizeof *g);
    if (!v || !g || fread(v, sizeof *v, cells, in) != cells)
        return fail(argv[1]);
    fclose(in);
    gram(VECTORS, n, v, g);
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(g, sizeof *g, pairs, out) != pairs || fclose(out))
        return fail(argv[2]);
    return 0;
}
