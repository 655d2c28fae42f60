#include "program.h"

KERNEL long binary_search(long n, const long *sorted, long keys, const long *key)
{
    long found = 0;
    for (long k = 0; k < keys; k++) {
        long low = 0, high = n;
        while (low < high) {
            long middle = (low + high) / 2;
            if (sorted[middle] < key[k])
                low = middle + 1;
            else
                high = middle;
        }
        found += low < n && sorted[low] == key[k];
    }
    return found;
}

int main(int argc, char **argv)
{
    long n = size(argc, argv), keys = 2000;
    long *v = memory(n * sizeof *v), *key = memory(keys * sizeof *key);
    for (long i = 0; i < n; i++)
        v[i] = 2 * i;
    for (long k = 0; k < keys; k++)
        key[k] = next() % (2 * n);
    printf("%ld\n", binary_search(n, v, keys, key));
}
