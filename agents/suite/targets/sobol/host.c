// An integral by quasi-random points, again and again with another digital shift:
// sobol --make POINTS SEED FILE writes the shifts; sobol IN OUT writes the function at
// the points of the last shift, and the mean of each; sobol --build compiles the kernels.
#include "cl.h"

#define DIMS 24
#define SHIFTS 16

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    state = seed * 2654435769u + 88172645463325252u;
    int bad = !f || fwrite(&size, sizeof size, 1, f) != 1;
    for (int i = 0; !bad && i < DIMS * SHIFTS; i++) {
        uint32_t v = (uint32_t)(uniform() * 4294967296.0);
        bad = fwrite(&v, sizeof v, 1, f) != 1;
    }
    if (bad || fclose(f)) {
        perror(path);
        return 1;
    }
    return 0;
}

// numbers makes direction numbers by Sobol's recurrence (Bratley and Fox, 1988, ACM
// TOMS 659): for each dimension a polynomial over GF(2) and odd first numbers. The
// polynomials are all of degree 1 to 7 with a constant term, in their order, whether
// they are primitive or not: the points are less even than the best, and as costly.
static void numbers(uint32_t *v)
{
    for (int k = 0; k < 32; k++)
        v[k] = 1u << (31 - k);
    uint32_t polynomial = 3; // x + 1
    for (int d = 1; d < DIMS; d++, polynomial += 2) {
        int degree = 0;
        while (polynomial >> (degree + 1))
            degree++;
        uint32_t *w = v + 32 * d;
        for (int k = 0; k < degree; k++)
            w[k] = ((2 * ((d + k) % (1 << k)) + 1) & ((2u << k) - 1)) << (31 - k);
        for (int k = degree; k < 32; k++) {
            w[k] = w[k - degree] ^ (w[k - degree] >> degree);
            for (int j = 1; j < degree; j++)
                if ((polynomial >> (degree - j)) & 1)
                    w[k] ^= w[k - j];
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc == 2 && !strcmp(argv[1], "--build")) {
        start();
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: sobol --make POINTS SEED FILE | sobol --build | sobol IN OUT\n");
        return 2;
    }
    size_t size;
    char *in = contents(argv[1], &size);
    int32_t n, dims = DIMS;
    memcpy(&n, in, sizeof n);
    if (size != 4 + 4 * DIMS * SHIFTS || n < 1 || n > 10000000) {
        fprintf(stderr, "%s: no shifts\n", argv[1]);
        return 1;
    }
    static uint32_t directions[32 * DIMS];
    numbers(directions);
    start();
    cl_mem v = input(directions, sizeof directions), x = output(4 * (size_t)n * DIMS), value = output(4 * (size_t)n);
    cl_kernel points = kernel("points"), integrand = kernel("integrand");
    size_t local = 64, coordinates = ((size_t)n * DIMS + local - 1) / local * local, all = (n + local - 1) / local * local;
    size_t bytes = 4 * ((size_t)n + SHIFTS);
    float *results = malloc(bytes);
    for (int s = 0; s < SHIFTS; s++) {
        cl_mem shift = input(in + 4 + 4 * DIMS * s, 4 * DIMS);
        check(clSetKernelArg(points, 0, sizeof n, &n), "clSetKernelArg");
        check(clSetKernelArg(points, 1, sizeof dims, &dims), "clSetKernelArg");
        check(clSetKernelArg(points, 2, sizeof v, &v), "clSetKernelArg");
        check(clSetKernelArg(points, 3, sizeof shift, &shift), "clSetKernelArg");
        check(clSetKernelArg(points, 4, sizeof x, &x), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, points, 1, NULL, &coordinates, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        check(clSetKernelArg(integrand, 0, sizeof n, &n), "clSetKernelArg");
        check(clSetKernelArg(integrand, 1, sizeof dims, &dims), "clSetKernelArg");
        check(clSetKernelArg(integrand, 2, sizeof x, &x), "clSetKernelArg");
        check(clSetKernelArg(integrand, 3, sizeof value, &value), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, integrand, 1, NULL, &all, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        check(clEnqueueReadBuffer(queue, value, CL_TRUE, 0, 4 * (size_t)n, results + SHIFTS, 0, NULL, NULL), "clEnqueueReadBuffer");
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += results[SHIFTS + i];
        results[s] = sum / n;
    }
    return save(results, bytes, argv[2]);
}
