// The autocorrelation of a signal: reduction --make SAMPLES SEED FILE writes one;
// reduction IN OUT writes sums and peaks of its products with itself for LAGS shifts;
// reduction --build compiles the kernels.
#include "cl.h"

#define LAGS 150
#define ITEMS 512

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    state = seed * 2654435769u + 88172645463325252u;
    int bad = !f || fwrite(&size, sizeof size, 1, f) != 1;
    for (int i = 0; !bad && i < n; i++) {
        int32_t v = (int)(uniform() * 31) - 15; // 10 million products fit into 32 bits
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
        fprintf(stderr, "usage: reduction --make SAMPLES SEED FILE | reduction --build | reduction IN OUT\n");
        return 2;
    }
    size_t size;
    char *in = contents(argv[1], &size);
    int32_t n, error;
    memcpy(&n, in, sizeof n);
    if (size < 4 || n < LAGS || n > 9000000 || size != 4 + 4 * (size_t)n) {
        fprintf(stderr, "%s: no signal\n", argv[1]);
        return 1;
    }
    start();
    static int32_t results[2][LAGS];
    for (int lag = 0; lag < LAGS; lag++)
        results[1][lag] = INT32_MIN;
    cl_mem x = input(in + 4, 4 * (size_t)n);
    cl_mem sum = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof results[0], results[0], &error);
    check(error, "clCreateBuffer");
    cl_mem peak = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof results[1], results[1], &error);
    check(error, "clCreateBuffer");
    cl_kernel correlate = kernel("correlate");
    size_t global = ITEMS, local = 64;
    int32_t part = (n + ITEMS - 1) / ITEMS;
    for (int32_t lag = 0; lag < LAGS; lag++) {
        check(clSetKernelArg(correlate, 0, sizeof n, &n), "clSetKernelArg");
        check(clSetKernelArg(correlate, 1, sizeof lag, &lag), "clSetKernelArg");
        check(clSetKernelArg(correlate, 2, sizeof part, &part), "clSetKernelArg");
        check(clSetKernelArg(correlate, 3, sizeof x, &x), "clSetKernelArg");
        check(clSetKernelArg(correlate, 4, sizeof sum, &sum), "clSetKernelArg");
        check(clSetKernelArg(correlate, 5, sizeof peak, &peak), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, correlate, 1, NULL, &global, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    }
    check(clFinish(queue), "clFinish");
    check(clEnqueueReadBuffer(queue, sum, CL_TRUE, 0, sizeof results[0], results[0], 0, NULL, NULL), "clEnqueueReadBuffer");
    check(clEnqueueReadBuffer(queue, peak, CL_TRUE, 0, sizeof results[1], results[1], 0, NULL, NULL), "clEnqueueReadBuffer");
    return save(results, sizeof results, argv[2]);
}
