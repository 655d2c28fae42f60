#include "stencil.h"

// One explicit step of dt of heat flow through a plate of n x n cells of width h,
// from temperatures u to v. k is the conductivity of each cell; what flows between
// two cells meets the mean of theirs. The rim keeps its temperature.
void step(int n, double dt, double h, const double *k, const double *u, double *v)
{
    for (int x = 1; x < n - 1; x++)
        for (int y = 1; y < n - 1; y++) {
            double here = k[y * n + x];
            double left = 0.5 * (here + k[y * n + x - 1]) * (u[y * n + x - 1] - u[y * n + x]);
            double right = 0.5 * (here + k[y * n + x + 1]) * (u[y * n + x + 1] - u[y * n + x]);
            double up = 0.5 * (here + k[(y - 1) * n + x]) * (u[(y - 1) * n + x] - u[y * n + x]);
            double down = 0.5 * (here + k[(y + 1) * n + x]) * (u[(y + 1) * n + x] - u[y * n + x]);
            v[y * n + x] = u[y * n + x] + dt * (left + right + up + down) / (h * h);
        }
}
