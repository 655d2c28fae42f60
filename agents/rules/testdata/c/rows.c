#include "program.h"

/* No restrict: main shows that the arrays are apart. */
void row_sums(long n, const double *a, double *c)
{
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            c[i] += a[i * n + j];
}

void weighted(long n, const double *a, const double *w, double *c)
{
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++)
            c[i * n + j] = a[i * n + j] * (w[i] / w[i + 1]);
    }
}

/* The bound may be 0, and then limit[i] must not be read. */
int clipped(int n, const int *count, const int *limit, int *out)
{
    int changed = 0;
    for (int i = 0; i < n; i++) {
        int most = count[i] % 7;
        for (int j = 0; j < most; j++) {
            out[i * 8 + j] = out[i * 8 + j] % 100 + limit[i];
            if (out[i * 8 + j] > 500)
                changed++;
        }
    }
    return changed;
}

void run_rows(long n)
{
    double *a = malloc((n * n + 1) * 8), *w = malloc((n + 1) * 8), *c = malloc((n * n + 1) * 8);
    int *count = malloc((n + 1) * 4), *limit = malloc((n + 1) * 4), *out = malloc((n * 8 + 8) * 4);
    for (long i = 0; i < n * n; i++)
        a[i] = draw(), c[i] = draw();
    for (long i = 0; i <= n; i++)
        w[i] = draw(), count[i] = (int)draw(), limit[i] = (int)draw() % 1000;
    for (long i = 0; i < n * 8; i++)
        out[i] = (int)draw();
    row_sums(n, a, c);
    show("row_sums", c, n * n * 8);
    weighted(n, a, w, c);
    show("weighted", c, n * n * 8);
    int changed = clipped(n, count, limit, out);
    show("clipped", out, n * 32);
    show("clipped", &changed, 4);
}
