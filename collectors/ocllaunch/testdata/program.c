// A program that fills a buffer twice on the first OpenCL device.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libOpenCL.so.1", RTLD_NOW);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f)
        fprintf(stderr, "no %s\n", name), exit(1);
    return f;
}

#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))find(#name))

int main(void)
{
    void *platform, *device;
    int32_t error;
    const char *source = "__kernel void fill(__global int *x, int v) { x[get_global_id(0)] = v; }";
    if (CALL(int32_t, clGetPlatformIDs, uint32_t, void **, uint32_t *)(1, &platform, NULL) ||
        CALL(int32_t, clGetDeviceIDs, void *, uint64_t, uint32_t, void **, uint32_t *)(platform, 0xFFFFFFFF, 1, &device, NULL))
        return 1;
    void *context = CALL(void *, clCreateContext, void *, uint32_t, void **, void *, void *, int32_t *)(NULL, 1, &device, NULL, NULL, &error);
    void *queue = CALL(void *, clCreateCommandQueue, void *, void *, uint64_t, int32_t *)(context, device, 0, &error);
    void *program = CALL(void *, clCreateProgramWithSource, void *, uint32_t, const char **, size_t *, int32_t *)(context, 1, &source, NULL, &error);
    if (CALL(int32_t, clBuildProgram, void *, uint32_t, void **, const char *, void *, void *)(program, 1, &device, "", NULL, NULL))
        return 1;
    void *kernel = CALL(void *, clCreateKernel, void *, const char *, int32_t *)(program, "fill", &error);
    void *buffer = CALL(void *, clCreateBuffer, void *, uint64_t, size_t, void *, int32_t *)(context, 1, 400, NULL, &error);
    size_t global = 100, local = 10;
    for (int v = 7; v <= 8; v++) {
        CALL(int32_t, clSetKernelArg, void *, uint32_t, size_t, const void *)(kernel, 0, sizeof buffer, &buffer);
        CALL(int32_t, clSetKernelArg, void *, uint32_t, size_t, const void *)(kernel, 1, sizeof v, &v);
        if (CALL(int32_t, clEnqueueNDRangeKernel, void *, void *, uint32_t, size_t *, size_t *, size_t *, uint32_t, void *, void **)(queue, kernel, 1, NULL, &global, v == 7 ? NULL : &local, 0, NULL, NULL))
            return 1;
    }
    int32_t x[100];
    if (CALL(int32_t, clEnqueueReadBuffer, void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *, void **)(queue, buffer, 1, 0, sizeof x, x, 0, NULL, NULL))
        return 1;
    return x[0] == 8 && x[99] == 8 ? 0 : 1;
}
