/* host FILE KERNEL... runs kernels with a size n and arrays of n by n numbers, the last of
   which they write, and prints a sum over it. The prototypes stand here, since the loader
   often comes without headers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *id;
int clGetPlatformIDs(unsigned, id *, unsigned *);
int clGetDeviceIDs(id, unsigned long, unsigned, id *, unsigned *);
id clCreateContext(void *, unsigned, id *, void *, void *, int *);
id clCreateCommandQueue(id, id, unsigned long, int *);
id clCreateProgramWithSource(id, unsigned, const char **, void *, int *);
int clBuildProgram(id, unsigned, id *, const char *, void *, void *);
int clGetProgramBuildInfo(id, id, unsigned, size_t, void *, size_t *);
id clCreateKernel(id, const char *, int *);
id clCreateBuffer(id, unsigned long, size_t, void *, int *);
int clSetKernelArg(id, unsigned, size_t, const void *);
int clEnqueueNDRangeKernel(id, id, unsigned, void *, const size_t *, const size_t *, unsigned, void *, void *);
int clEnqueueReadBuffer(id, id, unsigned, size_t, size_t, void *, unsigned, void *, void *);

static void must(int e, const char *what)
{
    if (e) {
        fprintf(stderr, "%s: error %d\n", what, e);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static char text[100000], log[10000];
    if (argc < 2)
        return 2;
    FILE *in = fopen(argv[1], "r");
    if (!in || !fread(text, 1, sizeof text - 1, in))
        return 2;
    const char *source = text;
    int e = 0;
    unsigned found = 0;
    id platform, device;
    must(clGetPlatformIDs(1, &platform, &found), "platform");
    must(clGetDeviceIDs(platform, 0xffffffff, 1, &device, &found), "device");
    id context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
    id queue = clCreateCommandQueue(context, device, 0, &e);
    id program = clCreateProgramWithSource(context, 1, &source, NULL, &e);
    e = clBuildProgram(program, 1, &device, "", NULL, NULL);
    clGetProgramBuildInfo(program, device, 0x1183, sizeof log, log, NULL);
    if (e)
        fprintf(stderr, "%s\n", log);
    must(e, "build");
    /* name, dimensions, arrays beside the output, local memory, whether numbers are whole */
    static const struct { const char *name; int dimensions, inputs, local, whole; } all[] = {
        {"product", 2, 2, 0, 0}, {"turn", 2, 1, 0, 0}, {"columns", 2, 1, 0, 0}, {"sums", 1, 1, 1, 1}, {"rows", 1, 2, 0, 0},
        {"turned", 2, 2, 0, 0}, {"tallies", 1, 1, 0, 1}, {"peaks", 1, 1, 0, 1},
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (int n = 16; n <= 48; n += 32) {
            int wanted = 0;
            for (int i = 2; i < argc; i++)
                wanted |= !strcmp(argv[i], all[k].name);
            if (!wanted)
                continue;
            size_t bytes = (size_t)n * n * 4;
            id kernel = clCreateKernel(program, all[k].name, &e);
            must(e, all[k].name);
            must(clSetKernelArg(kernel, 0, 4, &n), "n");
            id buffer = NULL;
            uint64_t state = 12345 + n;
            for (int i = 0; i <= all[k].inputs; i++) {
                float *data = malloc(bytes);
                for (int j = 0; j < n * n; j++) {
                    state = state * 6364136223846793005u + 1442695040888963407u;
                    float v = (float)(int32_t)(state >> 33) / 65536.0f - 1e4f;
                    int32_t w = (int32_t)(state >> 40);
                    memcpy(data + j, all[k].whole ? (void *)&w : (void *)&v, 4);
                }
                buffer = clCreateBuffer(context, 1 | 32, bytes, data, &e);
                must(e, "buffer");
                must(clSetKernelArg(kernel, 1 + i, sizeof buffer, &buffer), "argument");
                free(data);
            }
            if (all[k].local)
                must(clSetKernelArg(kernel, 2 + all[k].inputs, 16 * 4, NULL), "local memory");
            size_t global[2] = {n, all[k].dimensions > 1 ? n : 1}, local[2] = {all[k].dimensions > 1 ? 8 : 16, all[k].dimensions > 1 ? 8 : 1};
            must(clEnqueueNDRangeKernel(queue, kernel, all[k].dimensions, NULL, global, local, 0, NULL, NULL), "launch");
            unsigned char *out = malloc(bytes);
            must(clEnqueueReadBuffer(queue, buffer, 1, 0, bytes, out, 0, NULL, NULL), "read");
            uint64_t h = 1469598103934665603u;
            for (size_t i = 0; i < bytes; i++)
                h = (h ^ out[i]) * 1099511628211u;
            printf("%s %d %016llx\n", all[k].name, n, (unsigned long long)h);
        }
    return 0;
}
