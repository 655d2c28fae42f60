#include "program.h"

KERNEL void spmv(long rows, const long *start, const int *column, const double *value, const double *x, double *y)
{
    for (long r = 0; r < rows; r++) {
        double sum = 0;
        for (long k = start[r]; k < start[r + 1]; k++)
            sum += value[k] * x[column[k]];
        y[r] = sum;
    }
}

int main(int argc, char **argv)
{
    long rows = size(argc, argv), each = 8;
    long *start = memory((rows + 1) * sizeof *start);
    int *column = memory(rows * each * sizeof *column);
    for (long r = 0; r <= rows; r++)
        start[r] = r * each;
    for (long k = 0; k < rows * each; k++)
        column[k] = next() % rows;
    double *value = reals(rows * each), *x = reals(rows), *y = reals(rows);
    spmv(rows, start, column, value, x, y);
    printf("%g\n", y[rows / 2]);
}
