#include "program.h"

KERNEL void shortest_paths(long n, int *d)
{
    for (long k = 0; k < n; k++)
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++)
                if (d[i * n + k] + d[k * n + j] < d[i * n + j])
                    d[i * n + j] = d[i * n + k] + d[k * n + j];
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    int *d = memory(n * n * sizeof *d);
    for (long i = 0; i < n * n; i++)
        d[i] = i % (n + 1) ? 1 + next() % 1000 : 0;
    shortest_paths(n, d);
    printf("%d\n", d[n - 1]);
}
