#include "program.h"

void gemm(long n, const double *restrict a, const double *restrict b, double *restrict c)
{
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            double sum = 0;
            for (long k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* The sums in place, in arrays of two dimensions, with counters that are declared before. */
#define N 40
static float x[N][N], y[N][N], z[N][N];

void gemm2(int n)
{
    int i, j, k;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            z[i][j] = 0.5f;
            for (k = 0; k < n; k++)
                z[i][j] += x[i][k] * y[k][j];
        }
}

void run_gemm(long n)
{
    double *a = fill(n * n * 8, 'd'), *b = fill(n * n * 8, 'd'), *c = fill(n * n * 8, 'd');
    gemm(n, a, b, c);
    show("gemm", c, n * n * 8);
    memcpy(x, fill(sizeof x, 'f'), sizeof x);
    memcpy(y, fill(sizeof y, 'f'), sizeof y);
    gemm2(n < N ? n : N);
    show("gemm2", z, sizeof z);
}
