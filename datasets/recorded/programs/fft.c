#include "program.h"
#include <math.h>

// Of 2^order complex numbers, in place, with the roots of one in a table.
KERNEL void fft(long order, double *re, double *im, const double *wr, const double *wi)
{
    long n = 1L << order;
    for (long i = 0, j = 0; i < n; i++) {
        if (i < j) {
            double r = re[i], m = im[i];
            re[i] = re[j], im[i] = im[j];
            re[j] = r, im[j] = m;
        }
        long bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
    }
    for (long half = 1; half < n; half *= 2)
        for (long at = 0; at < n; at += 2 * half)
            for (long k = 0; k < half; k++) {
                double r = wr[k * (n / 2 / half)], m = wi[k * (n / 2 / half)];
                double br = re[at + half + k], bi = im[at + half + k];
                double tr = r * br - m * bi, ti = r * bi + m * br;
                re[at + half + k] = re[at + k] - tr;
                im[at + half + k] = im[at + k] - ti;
                re[at + k] += tr;
                im[at + k] += ti;
            }
}

int main(int argc, char **argv)
{
    long order = size(argc, argv), n = 1L << order;
    double *wr = reals(n), *wi = reals(n), *re = reals(n), *im = reals(n);
    for (long k = 0; k < n / 2; k++) {
        wr[k] = cos(-2 * 3.14159265358979323846 * k / n);
        wi[k] = sin(-2 * 3.14159265358979323846 * k / n);
    }
    fft(order, re, im, wr, wi);
    printf("%g\n", re[n / 2]);
}
