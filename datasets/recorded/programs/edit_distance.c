#include "program.h"
#include <string.h>

KERNEL int edit_distance(long n, const char *a, const char *b, int *row)
{
    for (long j = 0; j <= n; j++)
        row[j] = j;
    for (long i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (long j = 1; j <= n; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            int best = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[n];
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    char *a = memory(n), *b = memory(n);
    for (long i = 0; i < n; i++) {
        a[i] = 'a' + next() % 4;
        b[i] = 'a' + next() % 4;
    }
    printf("%d\n", edit_distance(n, a, b, memory((n + 1) * sizeof(int))));
}
