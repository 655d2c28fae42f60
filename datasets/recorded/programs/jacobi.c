#include "program.h"

KERNEL void jacobi(long w, const double *in, double *out)
{
    for (long y = 1; y < w - 1; y++)
        for (long x = 1; x < w - 1; x++)
            out[y * w + x] = 0.25 * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
}

int main(int argc, char **argv)
{
    long w = size(argc, argv);
    double *in = reals(w * w), *out = reals(w * w);
    jacobi(w, in, out);
    printf("%g\n", out[w * w / 2]);
}
