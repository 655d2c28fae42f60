// The accuracy of a classifier, and what it would be by chance: hits among the K
// best scores for the labels that there are, and for labels that were shuffled.
// accuracy --make ROWS SEED FILE writes scores and labels; accuracy IN OUT writes the
// hits of each round and the ranks of the last; accuracy --build compiles the kernels.
#include "cl.h"

#define CLASSES 500
#define ROUNDS 40
#define K 5

static int make(int rows, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = rows;
    state = seed * 2654435769u + 88172645463325252u;
    int bad = !f || fwrite(&size, sizeof size, 1, f) != 1;
    for (size_t i = 0; !bad && i < (size_t)rows * CLASSES; i++) {
        float v = (int)(uniform() * 65536) / 65536.0f;
        bad = fwrite(&v, sizeof v, 1, f) != 1;
    }
    for (int i = 0; !bad && i < ROUNDS * rows; i++) {
        int32_t label = (int)(uniform() * CLASSES);
        bad = fwrite(&label, sizeof label, 1, f) != 1;
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
        fprintf(stderr, "usage: accuracy --make ROWS SEED FILE | accuracy --build | accuracy IN OUT\n");
        return 2;
    }
    size_t size;
    char *in = contents(argv[1], &size);
    int32_t rows, classes = CLASSES, k = K;
    memcpy(&rows, in, sizeof rows);
    size_t cells = (size_t)rows * CLASSES;
    if (size < 4 || rows < 1 || rows > 1000000 || size != 4 + 4 * cells + 4 * (size_t)ROUNDS * rows) {
        fprintf(stderr, "%s: no scores and labels\n", argv[1]);
        return 1;
    }
    start();
    cl_mem scores = input(in + 4, 4 * cells);
    size_t bytes = 4 * ((size_t)rows + ROUNDS);
    int32_t *results = calloc(1, bytes);
    cl_kernel rate = kernel("accuracy");
    size_t local = 64, global = (rows + local - 1) / local * local;
    cl_mem rank = output(4 * (size_t)rows);
    for (int round = 0; round < ROUNDS; round++) {
        int32_t none = 0, error;
        cl_mem labels = input(in + 4 + 4 * cells + 4 * (size_t)round * rows, 4 * (size_t)rows);
        cl_mem hits = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none, &none, &error);
        check(error, "clCreateBuffer");
        check(clSetKernelArg(rate, 0, sizeof rows, &rows), "clSetKernelArg");
        check(clSetKernelArg(rate, 1, sizeof classes, &classes), "clSetKernelArg");
        check(clSetKernelArg(rate, 2, sizeof k, &k), "clSetKernelArg");
        check(clSetKernelArg(rate, 3, sizeof scores, &scores), "clSetKernelArg");
        check(clSetKernelArg(rate, 4, sizeof labels, &labels), "clSetKernelArg");
        check(clSetKernelArg(rate, 5, sizeof rank, &rank), "clSetKernelArg");
        check(clSetKernelArg(rate, 6, sizeof hits, &hits), "clSetKernelArg");
        check(clEnqueueNDRangeKernel(queue, rate, 1, NULL, &global, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        check(clEnqueueReadBuffer(queue, hits, CL_TRUE, 0, 4, results + round, 0, NULL, NULL), "clEnqueueReadBuffer");
    }
    check(clEnqueueReadBuffer(queue, rank, CL_TRUE, 0, 4 * (size_t)rows, results + ROUNDS, 0, NULL, NULL), "clEnqueueReadBuffer");
    return save(results, bytes, argv[2]);
}
