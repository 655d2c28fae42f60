#include "program.h"

KERNEL long sieve(long n, unsigned char *composite)
{
    long primes = 0;
    for (long i = 2; i <= n; i++) {
        if (composite[i])
            continue;
        primes++;
        for (long j = i * i; j <= n; j += i)
            composite[j] = 1;
    }
    return primes;
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    unsigned char *composite = memory(n + 1);
    for (long i = 0; i <= n; i++)
        composite[i] = 0;
    printf("%ld\n", sieve(n, composite));
}
