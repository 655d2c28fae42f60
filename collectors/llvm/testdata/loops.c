#include <stdlib.h>

struct node {
    struct node *next;
    double v;
};

void saxpy(int n, float a, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void matmul(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int k = 0; k < n; k++)
                s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}

double gather(int n, const int *idx, const double *v)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += v[idx[i]];
    return s;
}

double chase(const struct node *p)
{
    double s = 0;
    while (p) {
        s += p->v;
        p = p->next;
    }
    return s;
}

void every_third(long n, const double *restrict in, double *restrict out, double *restrict back)
{
    for (long i = 0; i < n; i++) {
        out[i] = in[3 * i];
        back[n - i] = 1;
    }
}

int choose(int x)
{
    switch (x) {
    case 1:
        return rand();
    case 2:
        return abs(x) * 9;
    case 3:
        return rand() + 12;
    default:
        return x / 7;
    }
}
