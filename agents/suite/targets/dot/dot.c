#include "dot.h"

// The scalar product of two vectors.
double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

// g[i][j] is the scalar product of the vectors i and j, of m that lie one after
// the other: how far from orthogonal a basis is.
void gram(int m, int n, const double *v, double *g)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            g[i * m + j] = dot(n, v + (long)i * n, v + (long)j * n);
            g[j * m + i] = g[i * m + j];
        }
}
