// spmv --make N SEED FILE writes a random graph of N nodes; spmv IN OUT writes the
// values of all nodes after STEPS steps of a random walk. A file of a graph is the
// numbers of nodes and edges as int32, the first edge of each node and the end as
// int32, the neighbours as int32, and the weights as doubles.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "spmv.h"

#define STEPS 40

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
    uint64_t x = seed * 2654435769u + 88172645463325252u;
    int32_t *start = malloc(((size_t)n + 1) * sizeof *start);
    if (!f || !start)
        return fail(path);
    start[0] = 0;
    for (int i = 0; i < n; i++)
        start[i + 1] = start[i] + 8 + (int)(56 * uniform(&x));
    int32_t head[2] = {n, start[n]};
    if (fwrite(head, sizeof head, 1, f) != 1 || fwrite(start, sizeof *start, (size_t)n + 1, f) != (size_t)n + 1)
        return fail(path);
    for (int i = 0; i < n; i++)
        for (int e = start[i]; e < start[i + 1]; e++) {
            // Most neighbours are near, some anywhere.
            int32_t to = uniform(&x) < 0.8 ? (i + 1 + (int)(200 * uniform(&x))) % n : (int)(n * uniform(&x));
            if (fwrite(&to, sizeof to, 1, f) != 1)
                return fail(path);
        }
    for (int e = 0; e < start[n]; e++) {
        double weight = 0.1 + uniform(&x);
        if (fwrite(&weight, sizeof weight, 1, f) != 1)
            return fail(path);
    }
    return fclose(f) ? fail(path) : 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: spmv --make N SEED FILE | spmv IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t head[2];
    if (!in || fread(head, sizeof head, 1, in) != 1 || head[0] < 1 || head[0] > 10000000 || head[1] < 1 || head[1] > 640000000)
        return fail(argv[1]);
    size_t n = head[0], edges = head[1];
    int *start = malloc((n + 1) * sizeof *start);
    int *neighbour = malloc(edges * sizeof *neighbour);
    double *weight = malloc(edges * sizeof *weight);
    double *strength = malloc(n * sizeof *strength);
    double *x = malloc(n * sizeof *x);
    double *y = malloc(n * sizeof *y);
    if (!start || !neighbour || !weight || !strength || !x || !y ||
        fread(start, sizeof *start, n + 1, in) != n + 1 ||
        fread(neighbour, sizeof *neighbour, edges, in) != edges || fread(weight, sizeof *weight, edges, in) != edges)
        return fail(argv[1]);
    fclose(in);
    for (size_t i = 0; i < n; i++) {
        x[i] = 1 + i % 7;
        strength[i] = 0;
        for (int e = start[i]; e < start[i + 1]; e++)
            strength[i] += weight[e];
    }
    for (int s = 0; s < STEPS; s += 2) {
        walk((int)n, 0.1, start, neighbour, weight, strength, x, y);
        walk((int)n, 0.1, start, neighbour, weight, strength, y, x);
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(x, sizeof *x, n, out) != n || fclose(out))
        return fail(argv[2]);
    return 0;
}
