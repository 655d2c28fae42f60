#include "program.h"

KERNEL void matmul_ijk(long n, const double *a, const double *b, double *c)
{
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            double sum = 0;
            for (long k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    double *a = reals(n * n), *b = reals(n * n), *c = reals(n * n);
    matmul_ijk(n, a, b, c);
    printf("%g\n", c[n * n / 2]);
}
