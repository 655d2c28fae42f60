// nbody --make N SEED FILE writes N bodies: masses, places and speeds, each as x, y
// and z; nbody IN OUT writes places and speeds after STEPS steps. A file of bodies
// is N as int32 and then doubles.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nbody.h"

#define STEPS 3

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
    for (int i = 0; i < 7 * n; i++) {
        double v = i < n ? 0.5 + uniform(&x) : i < 4 * n ? 20 * uniform(&x) - 10 : 0.2 * uniform(&x) - 0.1;
        if (fwrite(&v, sizeof v, 1, f) != 1)
            return fail(path);
    }
    return fclose(f) ? fail(path) : 0;
}

static double *numbers(size_t n)
{
    double *p = malloc(n * sizeof *p);
    if (!p)
        exit(fail("memory for the bodies"));
    return p;
}

static void drift(int n, double dt, double *x, double *v, const double *a)
{
    for (int i = 0; i < n; i++) {
        v[i] += dt * a[i];
        x[i] += dt * v[i];
    }
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: nbody --make N SEED FILE | nbody IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t size;
    if (!in || fread(&size, sizeof size, 1, in) != 1 || size < 1 || size > 1000000)
        return fail(argv[1]);
    size_t n = size;
    double *m = numbers(n);
    double *x = numbers(n), *y = numbers(n), *z = numbers(n);
    double *vx = numbers(n), *vy = numbers(n), *vz = numbers(n);
    double *ax = numbers(n), *ay = numbers(n), *az = numbers(n);
    double *read[] = {m, x, y, z, vx, vy, vz};
    for (int i = 0; i < 7; i++)
        if (fread(read[i], sizeof(double), n, in) != n)
            return fail(argv[1]);
    fclose(in);
    for (int s = 0; s < STEPS; s++) {
        accelerate(size, 1.0, 0.05, m, x, y, z, ax, ay, az);
        drift(size, 0.001, x, vx, ax);
        drift(size, 0.001, y, vy, ay);
        drift(size, 0.001, z, vz, az);
    }
    FILE *out = fopen(argv[2], "wb");
    for (int i = 1; i < 7; i++)
        if (!out || fwrite(read[i], sizeof(double), n, out) != n)
            return fail(argv[2]);
    return fclose(out) ? fail(argv[2]) : 0;
}
