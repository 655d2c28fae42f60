// A layer between an OpenCL program and its driver that writes down each launch of
// a kernel: its name, its shape, its arguments and its time by the device's clock.
// The loader puts it there where OPENCL_LAYERS names the library that is built of
// this file (cc -shared -fPIC -O1 -o layer.so layer.c). It writes to the file that
// ROOFLAB_OPENCL_LAUNCHES names, a line of JSON for each launch. While it watches,
// a launch waits until it has ended: launches do not overlap.
//
// No headers of OpenCL are needed. Places in the loader's table of functions are
// those of cl_icd_dispatch in the specification of cl_khr_icd, and numbers those of
// the specification of OpenCL.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CREATE_QUEUE = 9, CREATE_BUFFER = 14, RELEASE_MEMORY = 18, SET_KERNEL_ARG = 38, GET_KERNEL_INFO = 39,
    WAIT_FOR_EVENTS = 41, RELEASE_EVENT = 44, GET_EVENT_PROFILING = 45, ENQUEUE_RANGE = 59, CREATE_SUB_BUFFER = 82, CREATE_IMAGE = 96,
    CREATE_QUEUE_WITH = 123, TABLE = 512
};
enum { QUEUE_PROPERTIES = 0x1093, PROFILING = 1 << 1, PROFILING_START = 0x1282, PROFILING_END = 0x1283, KERNEL_NAME = 0x1190 };
enum { LAYER_VERSION = 0x4240, LAYER_NAME = 0x4241, INVALID = -30 };
enum { ARGUMENTS = 64, WIDEST = 64, KERNELS = 256, MEMORIES = 4096, LINES = 100000 };

typedef int32_t (*get_info)(void *, uint32_t, size_t, void *, size_t *);
typedef void *(*create_queue)(void *, void *, uint64_t, int32_t *);
typedef void *(*create_queue_with)(void *, void *, const uint64_t *, int32_t *);
typedef void *(*create_buffer)(void *, uint64_t, size_t, void *, int32_t *);
typedef void *(*create_sub_buffer)(void *, uint64_t, uint32_t, const void *, int32_t *);
typedef void *(*create_image)(void *, uint64_t, const void *, const void *, void *, int32_t *);
typedef int32_t (*release)(void *);
typedef int32_t (*set_kernel_arg)(void *, uint32_t, size_t, const void *);
typedef int32_t (*wait_for_events)(uint32_t, void *const *);
typedef int32_t (*enqueue_range)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void **);

static void *next[TABLE], *ours[TABLE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static long lines;

// What kernels were given, and which handles are memory.
static struct {
    void *kernel;
    struct { int known; size_t size; int local; unsigned char bytes[WIDEST]; } args[ARGUMENTS];
} kernels[KERNELS];
static struct { void *handle; size_t size; } memories[MEMORIES];

static void remember(void *handle, size_t size)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; handle && i < MEMORIES; i++)
        if (!memories[i].handle) {
            memories[i].handle = handle, memories[i].size = size;
            break;
        }
    pthread_mutex_unlock(&lock);
}

static void *create_buffer_here(void *context, uint64_t flags, size_t size, void *host, int32_t *error)
{
    void *m = ((create_buffer)next[CREATE_BUFFER])(context, flags, size, host, error);
    remember(m, size);
    return m;
}

static void *create_sub_buffer_here(void *buffer, uint64_t flags, uint32_t kind, const void *info, int32_t *error)
{
    void *m = ((create_sub_buffer)next[CREATE_SUB_BUFFER])(buffer, flags, kind, info, error);
    remember(m, info ? ((const size_t *)info)[1] : 0); // origin and size
    return m;
}

static void *create_image_here(void *context, uint64_t flags, const void *format, const void *shape, void *host, int32_t *error)
{
    void *m = ((create_image)next[CREATE_IMAGE])(context, flags, format, shape, host, error);
    remember(m, 0);
    return m;
}

static int32_t release_memory_here(void *handle)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MEMORIES; i++)
        if (memories[i].handle == handle)
            memories[i].handle = NULL;
    pthread_mutex_unlock(&lock);
    return ((release)next[RELEASE_MEMORY])(handle);
}

static void *create_queue_here(void *context, void *device, uint64_t properties, int32_t *error)
{
    return ((create_queue)next[CREATE_QUEUE])(context, device, properties | PROFILING, error);
}

static void *create_queue_with_here(void *context, void *device, const uint64_t *given, int32_t *error)
{
    uint64_t list[64], n = 0;
    int said = 0;
    for (; given && given[n] && n < 60; n += 2) {
        list[n] = given[n];
        list[n + 1] = given[n + 1];
        if (given[n] == QUEUE_PROPERTIES)
            list[n + 1] |= PROFILING, said = 1;
    }
    if (!said)
        list[n] = QUEUE_PROPERTIES, list[n + 1] = PROFILING, n += 2;
    list[n] = 0;
    return ((create_queue_with)next[CREATE_QUEUE_WITH])(context, device, list, error);
}

static int32_t set_kernel_arg_here(void *kernel, uint32_t index, size_t size, const void *value)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KERNELS && index < ARGUMENTS; i++)
        if (kernels[i].kernel == kernel || !kernels[i].kernel) {
            kernels[i].kernel = kernel;
            kernels[i].args[index].known = 1;
            kernels[i].args[index].size = size;
            kernels[i].args[index].local = !value;
            if (value && size <= WIDEST)
                memcpy(kernels[i].args[index].bytes, value, size);
            break;
        }
    pthread_mutex_unlock(&lock);
    return ((set_kernel_arg)next[SET_KERNEL_ARG])(kernel, index, size, value);
}

static void text(const char *s)
{
    fputc('"', out);
    for (; *s; s++)
        if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*s);
        else
            fputc(*s, out);
    fputc('"', out);
}

static void sizes(const char *name, uint32_t dimensions, const size_t *s)
{
    fprintf(out, ", \"%s\": [", name);
    for (uint32_t i = 0; s && i < dimensions && i < 3; i++)
        fprintf(out, i ? ", %zu" : "%zu", s[i]);
    fputc(']', out);
}

// arguments are "buffer:BYTES", "local:BYTES" and "value:HEX", "" for one that was
// not seen or is too wide.
static void arguments(void *kernel)
{
    fputs(", \"args\": [", out);
    for (int i = 0; i < KERNELS && kernels[i].kernel; i++) {
        if (kernels[i].kernel != kernel)
            continue;
        int last = ARGUMENTS - 1;
        while (last >= 0 && !kernels[i].args[last].known)
            last--;
        for (int a = 0; a <= last; a++) {
            size_t size = kernels[i].args[a].size;
            void *handle = NULL;
            long memory = -1;
            if (size == sizeof handle)
                memcpy(&handle, kernels[i].args[a].bytes, size);
            for (int m = 0; handle && m < MEMORIES; m++)
                if (memories[m].handle == handle)
                    memory = (long)memories[m].size;
            fputs(a ? ", \"" : "\"", out);
            if (!kernels[i].args[a].known || (!kernels[i].args[a].local && size > WIDEST))
                ;
            else if (kernels[i].args[a].local)
                fprintf(out, "local:%zu", size);
            else if (memory >= 0)
                fprintf(out, "buffer:%ld", memory);
            else {
                fputs("value:", out);
                for (size_t b = 0; b < size; b++)
                    fprintf(out, "%02x", kernels[i].args[a].bytes[b]);
            }
            fputc('"', out);
        }
    }
    fputc(']', out);
}

static int32_t enqueue_range_here(void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *global, const size_t *local,
    uint32_t waits, const void *wait, void **event)
{
    void *mine = NULL, **e = event ? event : &mine;
    int32_t error = ((enqueue_range)next[ENQUEUE_RANGE])(queue, kernel, dimensions, offset, global, local, waits, wait, e);
    if (error)
        return error;
    ((wait_for_events)next[WAIT_FOR_EVENTS])(1, e);
    uint64_t start = 0, end = 0;
    get_info profiling = (get_info)next[GET_EVENT_PROFILING], kernel_info = (get_info)next[GET_KERNEL_INFO];
    int32_t unknown = profiling(*e, PROFILING_START, sizeof start, &start, NULL) | profiling(*e, PROFILING_END, sizeof end, &end, NULL);
    char name[512] = "";
    kernel_info(kernel, KERNEL_NAME, sizeof name - 1, name, NULL);
    pthread_mutex_lock(&lock);
    if (out && lines++ < LINES) {
        fputs("{\"kernel\": ", out);
        text(name);
        sizes("global", dimensions, global);
        sizes("local", dimensions, local);
        if (!unknown)
            fprintf(out, ", \"start_ns\": %llu, \"end_ns\": %llu", (unsigned long long)start, (unsigned long long)end);
        arguments(kernel);
        fputs("}\n", out);
        fflush(out);
    }
    pthread_mutex_unlock(&lock);
    if (!event)
        ((release)next[RELEASE_EVENT])(mine);
    return 0;
}

int32_t clGetLayerInfo(uint32_t name, size_t size, void *value, size_t *needed)
{
    static const char label[] = "rooflab launches";
    uint32_t version = 100;
    const void *from = name == LAYER_NAME ? (const void *)label : (const void *)&version;
    size_t n = name == LAYER_NAME ? sizeof label : sizeof version;
    if ((name != LAYER_NAME && name != LAYER_VERSION) || (value && size < n))
        return INVALID;
    if (value)
        memcpy(value, from, n);
    if (needed)
        *needed = n;
    return 0;
}

int32_t clInitLayer(uint32_t entries, void *const *target, uint32_t *returned, void **layer)
{
    const char *path = getenv("ROOFLAB_OPENCL_LAUNCHES");
    if (!target || !returned || !layer || entries <= ENQUEUE_RANGE)
        return INVALID;
    uint32_t n = entries < TABLE ? entries : TABLE;
    memcpy(next, target, n * sizeof *next);
    memcpy(ours, next, sizeof ours);
    ours[CREATE_QUEUE] = (void *)create_queue_here;
    ours[CREATE_BUFFER] = (void *)create_buffer_here;
    ours[RELEASE_MEMORY] = (void *)release_memory_here;
    ours[SET_KERNEL_ARG] = (void *)set_kernel_arg_here;
    ours[ENQUEUE_RANGE] = (void *)enqueue_range_here;
    if (n > CREATE_SUB_BUFFER)
        ours[CREATE_SUB_BUFFER] = (void *)create_sub_buffer_here;
    if (n > CREATE_IMAGE)
        ours[CREATE_IMAGE] = (void *)create_image_here;
    if (n > CREATE_QUEUE_WITH)
        ours[CREATE_QUEUE_WITH] = (void *)create_queue_with_here;
    out = path ? fopen(path, "w") : NULL;
    if (out)
        fputs("{\"rooflab-opencl-launches\": 1}\n", out);
    *returned = n;
    *layer = (void *)ours;
    return 0;
}
