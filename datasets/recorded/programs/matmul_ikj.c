#include "program.h"

KERNEL void matmul_ikj(long n, const double *a, const double *b, double *c)
{
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    double *a = reals(n * n), *b = reals(n * n), *c = reals(n * n);
    matmul_ikj(n, a, b, c);
    printf("%g\n", c[n * n / 2]);
}
