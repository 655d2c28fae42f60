#include "program.h"

KERNEL void daxpy(long n, double a, const double *x, double *y)
{
    for (long i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    double *x = reals(n), *y = reals(n);
    daxpy(n, 3, x, y);
    printf("%g\n", y[n / 2]);
}
