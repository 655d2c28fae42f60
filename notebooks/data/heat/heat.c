/* heat spreads heat over a plate of N x N points for STEPS steps, and says how
   hot its hottest point is in the end. The plate is swept by columns, where each
   point is a whole row of memory after the one before it, or by rows, where
   neighbours in memory follow each other. The results are the same.

       cc -O1 -g -o heat heat.c && ./heat 512 50 columns && ./heat 512 50 rows */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATE __attribute__((noinline))

static unsigned long long state = 42;

/* A linear congruential generator (Knuth's MMIX), 0 to 1. */
SEPARATE static double uniform(void) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(state >> 11) / 9007199254740992.0;
}

SEPARATE static void ignite(double *t, long n) {
  for (long i = 0; i < n * n; i++)
    t[i] = uniform();
}

/* One step: each point becomes the mean of itself and its four neighbours. */
SEPARATE static void spread(double *restrict out, const double *restrict in, long n, int rows) {
  if (rows) {
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < n - 1; j++)
        out[i * n + j] = 0.2 * (in[i * n + j] + in[(i - 1) * n + j] + in[(i + 1) * n + j] + in[i * n + j - 1] + in[i * n + j + 1]);
  } else {
    for (long j = 1; j < n - 1; j++)
      for (long i = 1; i < n - 1; i++)
        out[i * n + j] = 0.2 * (in[i * n + j] + in[(i - 1) * n + j] + in[(i + 1) * n + j] + in[i * n + j - 1] + in[i * n + j + 1]);
  }
}

SEPARATE static double total(const double *t, long n) {
  double sum = 0;
  for (long i = 0; i < n * n; i++)
    sum += t[i];
  return sum;
}

SEPARATE static void merge(double *a, double *b, long half, long n) {
  long i = 0, j = half, k = 0;
  while (i < half && j < n)
    b[k++] = a[i] > a[j] ? a[i++] : a[j++];
  while (i < half)
    b[k++] = a[i++];
  while (j < n)
    b[k++] = a[j++];
  for (k = 0; k < n; k++)
    a[k] = b[k];
}

/* sort puts the hottest first. */
SEPARATE static void sort(double *a, double *b, long n) {
  if (n < 2)
    return;
  sort(a, b, n / 2);
  sort(a + n / 2, b, n - n / 2);
  merge(a, b, n / 2, n);
}

SEPARATE static void rank(double *t, double *spare, long n) {
  sort(t, spare, n * n);
  printf("hottest %.6f, coldest %.6f\n", t[0], t[n * n - 1]);
}

SEPARATE static void simulate(double **t, double **u, long n, long steps, int rows) {
  for (long s = 0; s < steps; s++) {
    spread(*u, *t, n, rows);
    double *swap = *t;
    *t = *u;
    *u = swap;
    if (s % 10 == 9)
      printf("step %ld: total %.3f\n", s + 1, total(*t, n));
  }
}

int main(int argc, char **argv) {
  long n = argc == 4 ? atol(argv[1]) : 0, steps = argc == 4 ? atol(argv[2]) : 0;
  int rows = argc == 4 && strcmp(argv[3], "rows") == 0;
  if (n < 3 || steps < 1 || (!rows && strcmp(argv[3], "columns") != 0)) {
    fprintf(stderr, "usage: %s N STEPS columns|rows, with N at least 3\n", argv[0]);
    return 2;
  }
  double *t = calloc(n * n, sizeof *t), *u = calloc(n * n, sizeof *u);
  if (!t || !u) {
    perror("memory for the plate");
    return 1;
  }
  ignite(t, n);
  simulate(&t, &u, n, steps, rows);
  rank(t, u, n);
  free(t);
  free(u);
  return 0;
}
