/* Numbers from a seed, and arrays as hexadecimal digits: what the test compares. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern uint64_t state;

static inline double draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / 1048576.0 - 4e6;
}

static inline void *fill(size_t bytes, char kind)
{
    unsigned char *p = calloc(bytes + 64, 1);
    for (size_t i = 0; i + 8 <= bytes + 8; i += kind == 'd' ? 8 : 4) {
        double v = draw();
        float s = v;
        int32_t n = (int32_t)v % 1000;
        memcpy(p + i, kind == 'd' ? (void *)&v : kind == 'f' ? (void *)&s : (void *)&n, kind == 'd' ? 8 : 4);
    }
    return p;
}

static inline void show(const char *name, const void *p, size_t bytes)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u;
    printf("%s %016llx\n", name, (unsigned long long)h);
}
