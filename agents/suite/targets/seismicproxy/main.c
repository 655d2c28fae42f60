// seismicproxy --make N SEED FILE writes a box of rock of N^3 points and how it is
// displaced at first; seismicproxy IN OUT writes the displacement after STEPS steps.
// A file is N as int32 and then doubles: density, the moduli mu and lambda, and the
// displacement, component by component.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elastic.h"

#define STEPS 10
#define LAYER 6 // points of the layers that swallow waves

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
    uint64_t r = seed * 2654435769u + 88172645463325252u;
    double middle[COMPONENTS];
    for (int c = 0; c < COMPONENTS; c++)
        middle[c] = n * (0.4 + 0.2 * uniform(&r));
    for (int part = 0; part < 3 + COMPONENTS; part++)
        for (int z = 0; z < n; z++) {
            double deep = (double)z / n, layer = 0.1 * uniform(&r);
            for (int y = 0; y < n; y++)
                for (int x = 0; x < n; x++) {
                    double v = part == 0 ? 2 + deep + layer : 1 + 2 * deep + layer;
                    if (part >= 3) { // a ball that is pushed
                        double dx = x - middle[0], dy = y - middle[1], dz = z - middle[2];
                        v = (0.5 + uniform(&r)) * exp(-(dx * dx + dy * dy + dz * dz) / 18);
                    }
                    if (fwrite(&v, sizeof v, 1, f) != 1)
                        return fail(path);
                }
        }
    return fclose(f) ? fail(path) : 0;
}

static double *numbers(size_t n)
{
    double *p = calloc(n, sizeof *p);
    if (!p)
        exit(fail("memory for the box"));
    return p;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: seismicproxy --make N SEED FILE | seismicproxy IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t n;
    if (!in || fread(&n, sizeof n, 1, in) != 1 || n < 2 * LAYER || n > 512)
        return fail(argv[1]);
    size_t points = (size_t)n * n * n, all = COMPONENTS * points;
    double *rho = numbers(points), *mu = numbers(points), *lambda = numbers(points), *div = numbers(points);
    double *u = numbers(all), *before = numbers(all), *next = numbers(all), *f = numbers(all);
    double *layer = numbers(n);
    if (fread(rho, sizeof *rho, points, in) != points || fread(mu, sizeof *mu, points, in) != points ||
        fread(lambda, sizeof *lambda, points, in) != points || fread(u, sizeof *u, all, in) != all)
        return fail(argv[1]);
    fclose(in);
    memcpy(before, u, all * sizeof *u); // at rest
    for (int i = 0; i < LAYER; i++)
        layer[i] = layer[n - 1 - i] = pow(1 - (double)i / LAYER, 2);
    for (int s = 0; s < STEPS; s++) {
        divergence(n, 1.0, u, div);
        force(n, 1.0, mu, lambda, u, div, f);
        predict(n, 0.25, rho, u, before, f, next);
        supergrid(n, 0.02, layer, u, before, next);
        rotate(n, before, u, next);
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(u, sizeof *u, all, out) != all || fclose(out))
        return fail(argv[2]);
    return 0;
}
