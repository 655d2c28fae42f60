// gemm --make N SEED FILE writes two random matrices; gemm IN OUT writes their
// product; gemm --build compiles the kernels only. A file is N as int32 and floats.
#include "cl.h"

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    state = seed * 2654435769u + 88172645463325252u;
    int bad = !f || fwrite(&size, sizeof size, 1, f) != 1;
    for (size_t i = 0; !bad && i < 2 * (size_t)n * n; i++) {
        float v = uniform() - 0.5;
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
        fprintf(stderr, "usage: gemm --make N SEED FILE | gemm --build | gemm IN OUT\n");
        return 2;
    }
    size_t size;
    char *in = contents(argv[1], &size);
    int32_t n;
    memcpy(&n, in, sizeof n);
    if (size < 4 || n < 1 || n % 16 || size != 4 + 8 * (size_t)n * n) {
        fprintf(stderr, "%s: no pair of matrices whose size is a multiple of 16\n", argv[1]);
        return 1;
    }
    start();
    size_t bytes = sizeof(float) * n * n;
    cl_mem a = input(in + 4, bytes), b = input(in + 4 + bytes, bytes), c = output(bytes);
    cl_kernel k = kernel("gemm");
    check(clSetKernelArg(k, 0, sizeof n, &n), "clSetKernelArg");
    check(clSetKernelArg(k, 1, sizeof a, &a), "clSetKernelArg");
    check(clSetKernelArg(k, 2, sizeof b, &b), "clSetKernelArg");
    check(clSetKernelArg(k, 3, sizeof c, &c), "clSetKernelArg");
    size_t global[] = {n, n}, local[] = {16, 16};
    check(clEnqueueNDRangeKernel(queue, k, 2, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    float *results = malloc(bytes);
    check(clEnqueueReadBuffer(queue, c, CL_TRUE, 0, bytes, results, 0, NULL, NULL), "clEnqueueReadBuffer");
    return save(results, bytes, argv[2]);
}
