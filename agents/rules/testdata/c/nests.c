#include "program.h"

/* Three loops in the worst order, with pointers into one array. */
static void waves(long n, const double *u, double *out)
{
    const double *v = u + n * n * n;
    for (long x = 1; x < n - 1; x++)
        for (long y = 1; y < n - 1; y++)
            for (long z = 0; z < n; z++) {
                long at = (z * n + y) * n + x;
                out[at] = u[at - 1] + u[at + 1] - 2 * u[at] + v[at - n] * 0.25;
            }
}

/* Three sums at once, each in memory. */
static void pulls(long n, const double *m, double *a, double *b, double *c)
{
    for (long i = 0; i < n; i++) {
        a[i] = 0;
        b[i] = 0;
        c[i] = 1;
        for (long j = 0; j < n; j++) {
            double d = m[j] - m[i];
            a[i] += d;
            b[i] += d * 0.5;
            if (d > 0)
                c[i] += d;
        }
    }
}

/* Callees that read and write what they are given. */
static double at(const double *row, long n, long k)
{
    return row[k < n ? k : n - 1] * 0.5;
}

static void both(double *pair, double x)
{
    pair[0] = x;
    pair[1] = -x;
}

static void lookups(long n, const double *table, double *out)
{
    for (long i = 0; i < n; i++) {
        double pair[2];
        double x = at(table, n, (i * 7) % n);
        both(pair, x);
        out[i] = pair[0] * 3 + pair[1];
    }
}

/* A border whose width only callers know. */
static void inner(long w, long h, long r, const double *s, double *a)
{
    for (long x = r; x < w - r; x++)
        for (long y = r; y < h - r; y++)
            a[y * w + x] = s[y * w + x - r] + s[(y - r) * w + x];
}

/* Places that data decide, within a row by the condition. */
static void counted(long n, long bins, const double *m, double *out)
{
    for (long c = 0; c < n; c++)
        for (long e = 0; e < n; e++) {
            long bin = (long)(m[e] / 1e6) + c;
            if (bin >= 0 && bin < bins)
                out[c * bins + bin] += 1;
        }
}

void run_nests(long n)
{
    long small = n > 20 ? 20 : n;
    double *u = fill(2 * small * small * small * 8 + 64, 'd'), *out = fill(small * small * small * 8, 'd');
    waves(small, u, out);
    show("waves", out, small * small * small * 8);
    double *m = fill(n * 8, 'd'), *a = fill(n * 8, 'd'), *b = fill(n * 8, 'd'), *c = fill(n * 8, 'd');
    pulls(n, m, a, b, c);
    show("pulls", a, n * 8);
    show("pulls", b, n * 8);
    show("pulls", c, n * 8);
    lookups(n, m, a);
    show("lookups", a, n * 8);
    double *s = fill(n * n * 8, 'd'), *t = fill(n * n * 8, 'd');
    inner(n, n, 2, s, t);
    show("inner", t, n * n * 8);
    double *counts = fill(n * (n / 2 + 1) * 8, 'd');
    counted(n, n / 2 + 1, m, counts);
    show("counted", counts, n * (n / 2 + 1) * 8);
}
