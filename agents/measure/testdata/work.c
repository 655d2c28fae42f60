// Does WORK rounds of arithmetic, and says how long it took. With FAKE it has a
// clock of its own, which stands still.
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifdef FAKE
int clock_gettime(clockid_t clock, struct timespec *t)
{
	t->tv_sec = t->tv_nsec = 0;
	return 0;
}
#endif

int main(void)
{
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	volatile double x = 1;
	for (long i = 0; i < WORK; i++)
		x = x * 1.0000001 + 1e-9;
#ifdef LEAVE
	if (fork() == 0)
		for (;;)
			;
#endif
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("time = %.9f s\n", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
	return EXIT;
}
