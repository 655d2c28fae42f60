// Does WORK rounds of arithmetic, and says how long it took. TRICK says how it
// lies about that: with a clock of its own that stands still (OWN), with one that
// it loads before the C library (PRELOAD; the library is this file with LIBRARY),
// or without looking at any (SAY).
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NONE, OWN, PRELOAD, SAY, LIBRARY, LEAVE };

#if TRICK == 1 || TRICK == 4
int clock_gettime(clockid_t clock, struct timespec *t)
{
	t->tv_sec = t->tv_nsec = 0;
	return 0;
}
#endif

#if TRICK != 4
int main(int argc, char **argv)
{
	if (TRICK == PRELOAD && !getenv("LD_PRELOAD")) {
		setenv("LD_PRELOAD", "./fake.so", 1);
		execv(argv[0], argv);
		return 9;
	}
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	volatile double x = 1;
	for (long i = 0; i < WORK; i++)
		x = x * 1.0000001 + 1e-9;
	if (TRICK == LEAVE && fork() == 0)
		for (;;)
			;
	clock_gettime(CLOCK_MONOTONIC, &b);
	double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	printf("time = %.9f s\n", TRICK == SAY ? 0 : s);
	return EXIT;
}
#endif
