#include "program.h"

KERNEL void quicksort(long *v, long n)
{
    while (n > 1) {
        long pivot = v[(n - 1) / 2], i = -1, j = n;
        for (;;) {
            do
                i++;
            while (v[i] < pivot);
            do
                j--;
            while (v[j] > pivot);
            if (i >= j)
                break;
            long t = v[i];
            v[i] = v[j];
            v[j] = t;
        }
        long left = j + 1;
        if (left < n - left) {
            quicksort(v, left);
            v += left;
            n -= left;
        } else {
            quicksort(v + left, n - left);
            n = left;
        }
    }
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    long *v = memory(n * sizeof *v);
    for (long i = 0; i < n; i++)
        v[i] = next() >> 1;
    quicksort(v, n);
    for (long i = 1; i < n; i++)
        if (v[i - 1] > v[i])
            return 1;
    printf("%ld\n", v[n / 2]);
}
