#include "program.h"

KERNEL long hash(long slots, uint32_t *table, long n, const uint32_t *key)
{
    long probes = 0;
    for (long i = 0; i < n; i++) {
        long at = key[i] * 2654435761u % slots;
        while (table[at] && table[at] != key[i]) {
            at = at + 1 == slots ? 0 : at + 1;
            probes++;
        }
        table[at] = key[i];
    }
    return probes;
}

int main(int argc, char **argv)
{
    long n = size(argc, argv), slots = 2 * n + 1;
    uint32_t *table = memory(slots * sizeof *table), *key = memory(n * sizeof *key);
    for (long i = 0; i < slots; i++)
        table[i] = 0;
    for (long i = 0; i < n; i++)
        key[i] = next() | 1;
    printf("%ld\n", hash(slots, table, n, key));
}
