#include "transpose.h"

// b is the transpose of a, both n x n, row by row.
void transpose(int n, const double *a, double *b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[j * n + i] = a[i * n + j];
}
