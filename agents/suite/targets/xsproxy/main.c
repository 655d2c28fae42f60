// xsproxy --make N SEED FILE writes tables of cross sections, materials and N
// particles; xsproxy IN OUT BUCKETS writes what detectors count after BATCHES batches
// and the macroscopic cross sections of the last to OUT, and in which buckets the
// particles were then, as int32, to BUCKETS. A file is N as int32, and then, each
// in turn: grids and tables of the nuclides as doubles, first nuclides of the
// materials and nuclides as int32, their densities, energies and places of
// the particles and places of the detectors as doubles, materials of the particles
// as int32.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lookup.h"

#define NUCLIDES 48
#define POINTS 400
#define BUCKETS 200
#define MATERIALS 8
#define ENTRIES 96 // nuclides of all materials
#define DETECTORS 48
#define BATCHES 3
#define LEAST 1e-3 // energies in eV
#define MOST 2e7

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

static int put(FILE *f, const void *p, size_t size, size_t n)
{
    return fwrite(p, size, n, f) == n;
}

static int get(FILE *f, void *p, size_t size, size_t n)
{
    return p && fread(p, size, n, f) == n;
}

// first says where the nuclides of each material begin: the fuel has most of them.
static void entries(int32_t *first)
{
    const int of[MATERIALS] = {40, 4, 2, 8, 12, 6, 10, 14};
    first[0] = 0;
    for (int m = 0; m < MATERIALS; m++)
        first[m + 1] = first[m] + of[m];
}

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    uint64_t x = seed * 2654435769u + 88172645463325252u;
    static double grid[NUCLIDES * POINTS], table[NUCLIDES * POINTS * CHANNELS], density[ENTRIES];
    static int32_t first[MATERIALS + 1], nuclide[ENTRIES];
    double *energy = malloc(n * sizeof *energy), *place = malloc((size_t)n * 3 * sizeof *place), at[3 * DETECTORS];
    int32_t *material = malloc(n * sizeof *material), size = n;
    if (!f || !energy || !place || !material)
        return fail(path);
    for (int k = 0; k < NUCLIDES; k++)
        for (int i = 0; i < POINTS; i++) {
            // The first point is the least energy, the last the most; between them each
            // has a step of its own.
            double step = (i + (i == 0 || i == POINTS - 1 ? 0 : 0.8 * (uniform(&x) - 0.5))) / (POINTS - 1);
            grid[k * POINTS + i] = LEAST * pow(MOST / LEAST, step);
            double *t = table + (k * POINTS + i) * CHANNELS;
            for (int c = 1; c < CHANNELS; c++)
                t[c] = 10 * uniform(&x) + (uniform(&x) < 0.02 ? 1000 * uniform(&x) : 0); // a resonance
            t[0] = t[1] + t[2] + t[3] + t[4] + 0.1;
        }
    entries(first);
    for (int e = 0; e < ENTRIES; e++) {
        nuclide[e] = (int)(NUCLIDES * uniform(&x));
        density[e] = 0.01 + uniform(&x);
    }
    for (int p = 0; p < n; p++) {
        energy[p] = LEAST * pow(MOST / LEAST, 0.001 + 0.998 * uniform(&x));
        material[p] = uniform(&x) < 0.3 ? 0 : (int)(MATERIALS * uniform(&x)); // fuel is met most
    }
    for (int i = 0; i < 3 * n; i++)
        place[i] = 10 * uniform(&x);
    for (int d = 0; d < 3 * DETECTORS; d++)
        at[d] = 11 + uniform(&x);
    if (!put(f, &size, sizeof size, 1) || !put(f, grid, sizeof grid, 1) || !put(f, table, sizeof table, 1) ||
        !put(f, first, sizeof first, 1) || !put(f, nuclide, sizeof nuclide, 1) || !put(f, density, sizeof density, 1) ||
        !put(f, energy, sizeof *energy, n) || !put(f, place, sizeof *place, 3 * (size_t)n) ||
        !put(f, at, sizeof at, 1) || !put(f, material, sizeof *material, n) || fclose(f))
        return fail(path);
    return 0;
}

// begin fills index: the last point of each nuclide's grid that is not above the
// least energy of each bucket.
static void begin(const double *grid, int *index)
{
    for (int k = 0; k < NUCLIDES; k++)
        for (int b = 0, at = 0; b < BUCKETS; b++) {
            double low = LEAST * pow(MOST / LEAST, (b - 0.001) / BUCKETS);
            while (at < POINTS - 2 && grid[k * POINTS + at + 1] <= low)
                at++;
            index[k * BUCKETS + b] = at;
        }
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 4) {
        fprintf(stderr, "usage: xsproxy --make N SEED FILE | xsproxy IN OUT BUCKETS\n");
        return 2;
    }
    FILE *f = fopen(argv[1], "rb");
    int32_t size;
    if (!f || fread(&size, sizeof size, 1, f) != 1 || size < 1 || size > 10000000)
        return fail(argv[1]);
    static double grid[NUCLIDES * POINTS], table[NUCLIDES * POINTS * CHANNELS], density[ENTRIES], hits[DETECTORS];
    static double at_x[DETECTORS], at_y[DETECTORS], at_z[DETECTORS];
    static int first[MATERIALS + 1], nuclide[ENTRIES], index[NUCLIDES * BUCKETS];
    size_t n = size;
    double *energy = malloc(n * sizeof *energy);
    double *x = malloc(n * sizeof *x);
    double *y = malloc(n * sizeof *y);
    double *z = malloc(n * sizeof *z);
    double *weight = malloc(n * sizeof *weight);
    double *macro = malloc(n * CHANNELS * sizeof *macro);
    int *material = malloc(n * sizeof *material);
    int *in = malloc(n * sizeof *in);
    if (!get(f, grid, sizeof grid, 1) || !get(f, table, sizeof table, 1) || !get(f, first, sizeof first, 1) ||
        !get(f, nuclide, sizeof nuclide, 1) || !get(f, density, sizeof density, 1) ||
        !get(f, energy, sizeof *energy, n) || !get(f, x, sizeof *x, n) || !get(f, y, sizeof *y, n) ||
        !get(f, z, sizeof *z, n) || !get(f, at_x, sizeof at_x, 1) || !get(f, at_y, sizeof at_y, 1) ||
        !get(f, at_z, sizeof at_z, 1) || !get(f, material, sizeof *material, n) || !weight || !macro || !in)
        return fail(argv[1]);
    fclose(f);
    begin(grid, index);
    for (size_t p = 0; p < n; p++)
        weight[p] = 1;
    double total[DETECTORS] = {0};
    for (int b = 0; b < BATCHES; b++) {
        bucket(size, BUCKETS, LEAST, MOST, energy, in);
        macroscopic(size, POINTS, BUCKETS, energy, material, in, first, nuclide, density, index, grid, table, macro);
        score(size, DETECTORS, weight, macro, x, y, z, at_x, at_y, at_z, hits);
        for (int d = 0; d < DETECTORS; d++)
            total[d] += hits[d];
        for (size_t p = 0; p < n; p++) { // what is not absorbed goes on, slower
            weight[p] *= 1 - macro[p * CHANNELS + 2] / macro[p * CHANNELS];
            energy[p] = LEAST + 0.7 * (energy[p] - LEAST);
        }
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || !put(out, total, sizeof total, 1) || !put(out, macro, sizeof *macro, n * CHANNELS) || fclose(out))
        return fail(argv[2]);
    out = fopen(argv[3], "wb");
    if (!out || !put(out, in, sizeof *in, n) || fclose(out))
        return fail(argv[3]);
    return 0;
}
