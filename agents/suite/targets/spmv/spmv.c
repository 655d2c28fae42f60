#include "spmv.h"

// One step of a random walk on a graph of n nodes: y is where it is, after x. The
// edges of node i are start[i] to start[i+1], each to a neighbour with a weight;
// the strength of a node is the sum of its weights. A walker stays where it is
// with a chance of its own.
void walk(int n, double stay, const int *start, const int *neighbour, const double *weight, const double *strength,
          const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = stay * x[i];
        for (int e = start[i]; e < start[i + 1]; e++)
            y[i] += (1 - stay) * weight[e] * x[neighbour[e]] / strength[i];
    }
}
