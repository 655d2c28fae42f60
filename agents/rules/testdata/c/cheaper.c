#include "program.h"
#include <math.h>

void index_pairs(int w, int h, const float *restrict in, float *restrict out)
{
    for (int at = 0; at < w * h; at++) {
        int row = at / w, col = at % w;
        out[at] = in[col * h + row] / 4.0f;
    }
}

void squares(long n, const double *restrict x, double *restrict y)
{
    for (long i = 0; i < n; i++) {
        double d = x[i] / 8.0 - 1.5;
        y[i] = pow(d, 2) + pow(x[i], 2.0);
    }
}

/* Two passes, and a branch. */
float extremes(int n, const float *restrict v, float *restrict low, float *restrict high)
{
    float best = v[0];
    int hits = 0;
    for (int i = 0; i < n; i++) {
        if (v[i] < 0)
            low[i] = v[i];
        else
            low[i] = 0.0f;
        if (v[i] > best)
            best = v[i];
        if (v[i] > 100) {
            hits += 2;
        }
    }
    for (int i = 0; i < n; i++) {
        high[i] = low[i] + v[i];
    }
    return best + hits;
}

void run_cheaper(long n)
{
    long m = n + 5;
    float *a = fill(n * m * 4, 'f'), *b = fill(n * m * 4, 'f'), *c = fill(n * m * 4, 'f');
    index_pairs(n, m, a, b);
    show("index_pairs", b, n * m * 4);
    double *x = fill(n * 8, 'd'), *y = fill(n * 8, 'd');
    squares(n, x, y);
    show("squares", y, n * 8);
    float best = extremes(n, a, b, c);
    show("extremes", &best, 4);
    show("extremes", b, n * m * 4);
    show("extremes", c, n * m * 4);
}
