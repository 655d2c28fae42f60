#include "program.h"

void run_cheaper(long n);
void run_columns(long n);
void run_gemm(long n);
void run_nests(long n);
void run_rows(long n);

uint64_t state;

/* Runs everything for each size given; the first argument is a seed. */
int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        long n = atol(argv[i]);
        state = strtoull(argv[1], 0, 10);
        run_cheaper(n);
        run_columns(n);
        run_gemm(n);
        run_nests(n);
        run_rows(n);
    }
    return 0;
}
