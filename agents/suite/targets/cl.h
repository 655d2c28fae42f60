// The part of OpenCL 1.2 that the program beside it needs. The library is found
// when the program runs: neither headers nor a library are there when it is built.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct platform *cl_platform_id;
typedef struct device *cl_device_id;
typedef struct context *cl_context;
typedef struct queue *cl_command_queue;
typedef struct program *cl_program;
typedef struct kernel *cl_kernel;
typedef struct memory *cl_mem;
typedef struct event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;

// Names and numbers are those of the OpenCL specification.
#define CL_TRUE 1
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu
#define CL_MEM_READ_WRITE (1 << 0)
#define CL_MEM_READ_ONLY (1 << 2)
#define CL_MEM_COPY_HOST_PTR (1 << 5)
#define CL_PROGRAM_BUILD_LOG 0x1183

static cl_int (*clGetPlatformIDs)(cl_uint, cl_platform_id *, cl_uint *);
static cl_int (*clGetDeviceIDs)(cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *);
static cl_context (*clCreateContext)(const void *, cl_uint, const cl_device_id *, void *, void *, cl_int *);
static cl_command_queue (*clCreateCommandQueue)(cl_context, cl_device_id, cl_bitfield, cl_int *);
static cl_program (*clCreateProgramWithSource)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
static cl_int (*clBuildProgram)(cl_program, cl_uint, const cl_device_id *, const char *, void *, void *);
static cl_int (*clGetProgramBuildInfo)(cl_program, cl_device_id, cl_uint, size_t, void *, size_t *);
static cl_kernel (*clCreateKernel)(cl_program, const char *, cl_int *);
static cl_int (*clSetKernelArg)(cl_kernel, cl_uint, size_t, const void *);
static cl_mem (*clCreateBuffer)(cl_context, cl_bitfield, size_t, void *, cl_int *);
static cl_int (*clEnqueueNDRangeKernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *, cl_event *);
static cl_int (*clEnqueueReadBuffer)(cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *);
static cl_int (*clFinish)(cl_command_queue);

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;

// check ends the program where a call failed.
static void check(cl_int error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s failed: OpenCL error %d\n", what, error);
        exit(1);
    }
}

// load finds the functions.
static void load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
    struct { const char *name; void *at; } all[] = {
        {"clGetPlatformIDs", &clGetPlatformIDs}, {"clGetDeviceIDs", &clGetDeviceIDs}, {"clCreateContext", &clCreateContext},
        {"clCreateCommandQueue", &clCreateCommandQueue}, {"clCreateProgramWithSource", &clCreateProgramWithSource},
        {"clBuildProgram", &clBuildProgram}, {"clGetProgramBuildInfo", &clGetProgramBuildInfo}, {"clCreateKernel", &clCreateKernel},
        {"clSetKernelArg", &clSetKernelArg}, {"clCreateBuffer", &clCreateBuffer}, {"clEnqueueNDRangeKernel", &clEnqueueNDRangeKernel},
        {"clEnqueueReadBuffer", &clEnqueueReadBuffer}, {"clFinish", &clFinish},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *f = library ? dlsym(library, all[i].name) : NULL;
        if (!f) {
            fprintf(stderr, "no %s: %s; install an OpenCL loader (ocl-icd-libopencl1) and a driver (pocl-opencl-icd for the CPU)\n", all[i].name, dlerror());
            exit(1);
        }
        memcpy(all[i].at, &f, sizeof f);
    }
}

// contents reads a whole file.
static char *contents(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    if (f && !fseek(f, 0, SEEK_END))
        n = ftell(f);
    char *text = n >= 0 ? malloc(n + 1) : NULL;
    if (!text || fseek(f, 0, SEEK_SET) || fread(text, 1, n, f) != (size_t)n) {
        perror(path);
        exit(1);
    }
    fclose(f);
    text[n] = 0;
    *size = n;
    return text;
}

// start opens the first device and compiles kernels.cl for it.
static void start(void)
{
    cl_platform_id platform;
    cl_int error;
    load();
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "clCreateCommandQueue");
    size_t size;
    // So the compiler speaks of this file, whatever it calls its copy.
    const char *texts[] = {"#line 1 \"kernels.cl\"\n", contents("kernels.cl", &size)};
    program = clCreateProgramWithSource(context, 2, texts, NULL, &error);
    check(error, "clCreateProgramWithSource");
    error = clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (error) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    check(error, "clBuildProgram");
}

static cl_kernel kernel(const char *name)
{
    cl_int error;
    cl_kernel k = clCreateKernel(program, name, &error);
    check(error, name);
    return k;
}

// input is a buffer with data, output one without.
static cl_mem input(const void *data, size_t size)
{
    cl_int error;
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size, (void *)data, &error);
    check(error, "clCreateBuffer");
    return b;
}

static cl_mem output(size_t size)
{
    cl_int error;
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    check(error, "clCreateBuffer");
    return b;
}

// save writes results to a file.
static int save(const void *data, size_t size, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
        perror(path);
        return 1;
    }
    return 0;
}

// xorshift64 (Marsaglia 2003)
static uint64_t state;

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}
