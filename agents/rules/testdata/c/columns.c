#include "program.h"

void scale(int w, int h, const float *restrict in, float *restrict out)
{
    for (int x = 1; x < w - 1; x++) {
        for (int y = 1; y < h - 1; y++) {
            out[y * w + x] = in[y * w + x - 1] + 2 * in[y * w + x] - in[(y + 1) * w + x];
        }
    }
}

/* In place: the element above is new already. */
void smooth(long w, long h, double *g)
{
    for (long x = 0; x < w; x++)
        for (long y = 1; y < h; y++)
            g[y * w + x] = 0.5 * (g[y * w + x] + g[(y - 1) * w + x]);
}

void transpose(long n, const double *restrict in, double *restrict out)
{
    for (long i = 0; i < n; i++)
        for (long j = 0; j <= n - 1; j++)
            out[j * n + i] = in[i * n + j];
}

/* A sum of integers has no order. */
long total(long n, const int *m)
{
    long s = 0;
    for (long x = 0; x < n; x++)
        for (long y = 0; y < n; y++)
            s += m[y * n + x];
    return s;
}

void run_columns(long n)
{
    long m = n + 3;
    float *a = fill(n * m * 4, 'f'), *b = fill(n * m * 4, 'f');
    scale(n, m, a, b);
    show("scale", b, n * m * 4);
    double *g = fill(n * m * 8, 'd'), *t = fill(n * n * 8, 'd');
    smooth(n, m, g);
    show("smooth", g, n * m * 8);
    transpose(n, g, t);
    show("transpose", t, n * n * 8);
    long s = total(n, (int *)a);
    show("total", &s, sizeof s);
}
