// bilateral --make N SEED FILE writes an image of N by N pixels with noise; bilateral
// IN OUT writes it filtered; bilateral --build compiles the kernels only. A file is N
// as int32 and floats.
#include "cl.h"

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    state = seed * 2654435769u + 88172645463325252u;
    int bad = !f || fwrite(&size, sizeof size, 1, f) != 1;
    for (int y = 0; !bad && y < n; y++)
        for (int x = 0; !bad && x < n; x++) {
            float v = ((x / 16 + y / 16) % 2 ? 0.7 : 0.3) + 0.2 * (uniform() - 0.5);
            bad = fwrite(&v, sizeof v, 1, f) != 1;
        }
    if (bad || fclose(f)) {
        perror(path);
        return 1;
    }
    return 0;
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
        fprintf(stderr, "usage: bilateral --make N SEED FILE | bilateral --build | bilateral IN OUT\n");
        return 2;
    }
    size_t size;
    char *in = contents(argv[1], &size);
    int32_t n, radius = 4;
    float space = 2.5, range = 0.15;
    memcpy(&n, in, sizeof n);
    if (size < 4 || n < 1 || n > 20000 || size != 4 + 4 * (size_t)n * n) {
        fprintf(stderr, "%s: no square image\n", argv[1]);
        return 1;
    }
    start();
    size_t bytes = sizeof(float) * n * n;
    cl_mem image = input(in + 4, bytes), filtered = output(bytes);
    cl_kernel k = kernel("bilateral");
    check(clSetKernelArg(k, 0, sizeof n, &n), "clSetKernelArg");
    check(clSetKernelArg(k, 1, sizeof radius, &radius), "clSetKernelArg");
    check(clSetKernelArg(k, 2, sizeof space, &space), "clSetKernelArg");
    check(clSetKernelArg(k, 3, sizeof range, &range), "clSetKernelArg");
    check(clSetKernelArg(k, 4, sizeof image, &image), "clSetKernelArg");
    check(clSetKernelArg(k, 5, sizeof filtered, &filtered), "clSetKernelArg");
    size_t side = (n + 7) / 8 * 8, global[] = {side, side}, local[] = {8, 8};
    check(clEnqueueNDRangeKernel(queue, k, 2, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    float *results = malloc(bytes);
    check(clEnqueueReadBuffer(queue, filtered, CL_TRUE, 0, bytes, results, 0, NULL, NULL), "clEnqueueReadBuffer");
    return save(results, bytes, argv[2]);
}
