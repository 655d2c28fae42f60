#include "elastic.h"

// div is the divergence of the displacement u, by differences of fourth order, in
// the interior.
void divergence(int n, double h, const double *u, double *div)
{
    const double *v = u + n * n * n, *w = v + n * n * n;
    for (int x = 2; x < n - 2; x++)
        for (int y = 2; y < n - 2; y++)
            for (int z = 2; z < n - 2; z++) {
                int at = (z * n + y) * n + x;
                div[at] = (u[at - 2] - 8 * u[at - 1] + 8 * u[at + 1] - u[at + 2] + v[at - 2 * n] - 8 * v[at - n] +
                           8 * v[at + n] - v[at + 2 * n] + w[at - 2 * n * n] - 8 * w[at - n * n] + 8 * w[at + n * n] -
                           w[at + 2 * n * n]) /
                          (12 * h);
            }
}

// f is the force by which rock resists the displacement u: mu times its Laplacian
// and lambda + mu times the gradient of its divergence, for a material that
// changes slowly.
void force(int n, double h, const double *mu, const double *lambda, const double *u, const double *div, double *f)
{
    for (int c = 0; c < COMPONENTS; c++) {
        int along = c == 0 ? 1 : c == 1 ? n : n * n;
        for (int x = 4; x < n - 4; x++)
            for (int y = 4; y < n - 4; y++)
                for (int z = 4; z < n - 4; z++) {
                    int at = (z * n + y) * n + x, of = c * n * n * n + at;
                    double xx = -u[of - 2] + 16 * u[of - 1] - 30 * u[of] + 16 * u[of + 1] - u[of + 2];
                    double yy = -u[of - 2 * n] + 16 * u[of - n] - 30 * u[of] + 16 * u[of + n] - u[of + 2 * n];
                    double zz = -u[of - 2 * n * n] + 16 * u[of - n * n] - 30 * u[of] + 16 * u[of + n * n] - u[of + 2 * n * n];
                    double grad = div[at - 2 * along] - 8 * div[at - along] + 8 * div[at + along] - div[at + 2 * along];
                    f[of] = mu[at] * (xx + yy + zz) / (12 * h * h) + (lambda[at] + mu[at]) * grad / (12 * h);
                }
    }
}

// next is the displacement a step of dt later, by the one before and the force.
void predict(int n, double dt, const double *rho, const double *u, const double *before, const double *f, double *next)
{
    for (int c = 0; c < COMPONENTS; c++)
        for (int x = 0; x < n; x++)
            for (int y = 0; y < n; y++)
                for (int z = 0; z < n; z++) {
                    int at = (z * n + y) * n + x, of = c * n * n * n + at;
                    next[of] = 2 * u[of] - before[of] + dt * dt / rho[at] * f[of];
                }
}

// Waves that come to the sides of the box get weaker in layers there: what is
// swallowed is in proportion to the fourth difference of the speed along each
// axis. layer says how strongly, from 0 in the middle to 1 at a side.
void supergrid(int n, double strength, const double *layer, const double *u, const double *before, double *next)
{
    for (int c = 0; c < COMPONENTS; c++)
        for (int x = 2; x < n - 2; x++)
            for (int y = 2; y < n - 2; y++)
                for (int z = 2; z < n - 2; z++) {
                    int of = ((c * n + z) * n + y) * n + x;
                    double along_x = u[of - 2] - before[of - 2] - 4 * (u[of - 1] - before[of - 1]) + 6 * (u[of] - before[of]) -
                                     4 * (u[of + 1] - before[of + 1]) + u[of + 2] - before[of + 2];
                    double along_y = u[of - 2 * n] - before[of - 2 * n] - 4 * (u[of - n] - before[of - n]) +
                                     6 * (u[of] - before[of]) - 4 * (u[of + n] - before[of + n]) + u[of + 2 * n] -
                                     before[of + 2 * n];
                    double along_z = u[of - 2 * n * n] - before[of - 2 * n * n] - 4 * (u[of - n * n] - before[of - n * n]) +
                                     6 * (u[of] - before[of]) - 4 * (u[of + n * n] - before[of + n * n]) +
                                     u[of + 2 * n * n] - before[of + 2 * n * n];
                    next[of] -= strength * (layer[x] * along_x + layer[y] * along_y + layer[z] * along_z);
                }
}

// The step is over: what is now becomes what was before.
void rotate(int n, double *before, double *u, const double *next)
{
    for (int i = 0; i < COMPONENTS * n * n * n; i++)
        before[i] = u[i];
    for (int i = 0; i < COMPONENTS * n * n * n; i++)
        u[i] = next[i];
}
