// histogram --make N SEED FILE writes N events of each of CHANNELS channels;
// histogram IN OUT writes their spectra, as int32. A file of events is N as int32,
// gains, offsets, lowest and highest energies of the channels as doubles, and the
// heights of pulses as floats, channel by channel.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "histogram.h"

#define CHANNELS 16
#define BINS 200

static int fail(const char *what)
{
    perror(what);
    return 1;
}

// uniform is uniform from 0 to 1: xorshift64 (Marsaglia 2003).
static double uniform(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (double)(*x >> 11) / 9007199254740992.0;
}

static int make(int n, uint64_t seed, const char *path)
{
    FILE *f = fopen(path, "wb");
    int32_t size = n;
    if (!f || fwrite(&size, sizeof size, 1, f) != 1)
        return fail(path);
    uint64_t x = seed * 2654435769u + 88172645463325252u;
    double calibration[4][CHANNELS]; // of each channel, energies in keV
    for (int c = 0; c < CHANNELS; c++) {
        calibration[0][c] = 0.9 + 0.2 * uniform(&x);
        calibration[1][c] = 2 + uniform(&x);
        calibration[2][c] = 10 + 10 * uniform(&x);
        calibration[3][c] = 1500 + 1000 * uniform(&x);
    }
    if (fwrite(calibration, sizeof calibration, 1, f) != 1)
        return fail(path);
    for (long i = 0; i < (long)n * CHANNELS; i++) {
        float height = (float)(-300 * log(1 - uniform(&x)));
        if (fwrite(&height, sizeof height, 1, f) != 1)
            return fail(path);
    }
    return fclose(f) ? fail(path) : 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--make"))
        return make(atoi(argv[2]), strtoull(argv[3], 0, 10), argv[4]);
    if (argc != 3) {
        fprintf(stderr, "usage: histogram --make N SEED FILE | histogram IN OUT\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    int32_t n;
    static double gain[CHANNELS], offset[CHANNELS], lowest[CHANNELS], highest[CHANNELS];
    static int count[CHANNELS * BINS];
    if (!in || fread(&n, sizeof n, 1, in) != 1 || n < 1 || n > 10000000 ||
        fread(gain, sizeof gain, 1, in) != 1 || fread(offset, sizeof offset, 1, in) != 1 ||
        fread(lowest, sizeof lowest, 1, in) != 1 || fread(highest, sizeof highest, 1, in) != 1)
        return fail(argv[1]);
    size_t events = (size_t)n * CHANNELS;
    float *pulse = malloc(events * sizeof *pulse);
    if (!pulse || fread(pulse, sizeof *pulse, events, in) != events)
        return fail(argv[1]);
    fclose(in);
    fill(CHANNELS, n, BINS, pulse, gain, offset, lowest, highest, count);
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(count, sizeof count, 1, out) != 1 || fclose(out))
        return fail(argv[2]);
    return 0;
}
