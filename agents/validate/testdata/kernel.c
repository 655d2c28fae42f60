// Reads input.bin, writes out.bin (x*x + 1 of each value) and prints the sum.
// VARIANT says what a candidate does otherwise.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ORIGINAL, SAME, REORDERED, WRONG, SHORT, EARLY, COPY, EXTRA, OUTSIDE, NETWORK, HANG, CRASH, LONGER, CONSTANT, LEAVE, NOTANUMBER, PRINT, RANDOM, LOOK, RESUMES, HOLES, MULTIPLES };

static float in[1 << 20], out[1 << 20];

int main(int argc, char **argv)
{
	if (VARIANT == EARLY)
		return 0;
	FILE *f = fopen("input.bin", "rb");
	if (!f)
		return 3;
	int n = (int)fread(in, sizeof *in, 1 << 20, f);
	fclose(f);
	float sum = 0;
	for (int i = 0; i < n; i++)
		out[i] = in[i] * in[i] + 1;
	if (VARIANT == REORDERED)
		for (int i = n - 1; i >= 0; i--)
			sum += out[i];
	else
		for (int i = 0; i < n; i++)
			sum += out[i];
	int left = n;
	switch (VARIANT) {
	case WRONG:
		out[7] *= 1.001f;
		break;
	case NOTANUMBER:
		out[7] = 0.0f / (out[7] - out[7]);
		break;
	case MULTIPLES: // a loop in steps of 8 without the rest
		for (int i = n / 8 * 8; i < n; i++)
			out[i] = 0;
		break;
	case SHORT:
		left = n / 2;
		break;
	case LONGER:
		left = n + 3;
		break;
	case CONSTANT: // what the author of the candidate saw on his own input
		for (int i = 0; i < n; i++)
			out[i] = 1.25f;
		break;
	case COPY: { // a reference that the candidate was told of
		FILE *r = fopen(REFERENCE, "rb");
		if (r)
			left = (int)fread(out, sizeof *out, n, r);
		else
			memset(out, 0, sizeof out);
		break;
	}
	case LOOK: { // for what an earlier run has left
		FILE *r = fopen("out.bin", "rb");
		if (r)
			return 0;
		break;
	}
	case HOLES: // files that take no room in memory
		for (int i = 0; i < 3; i++) {
			char name[] = "hole0";
			name[4] += i;
			FILE *w = fopen(name, "w");
			if (!w || ftruncate(fileno(w), 12 << 20) || fclose(w))
				return 4;
		}
		break;
	case RESUMES: // as LOOK, and so does its original
		fopen("../out.bin", "rb");
		break;
	case EXTRA:
		fclose(fopen("cache.bin", "w"));
		break;
	case OUTSIDE: {
		FILE *w = fopen("/usr/lib/planted.so", "w");
		if (w)
			fclose(w);
		break;
	}
	case NETWORK:
		socket(AF_INET, SOCK_DGRAM, 0);
		break;
	case HANG:
		for (;;)
			;
	case CRASH:
		abort();
	case LEAVE:
		if (fork() == 0)
			for (;;)
				;
		break;
	case PRINT:
		for (;;)
			puts("progress");
	case RANDOM: { // as programs whose threads add in any order
		unsigned r = 0;
		getrandom(&r, sizeof r, 0);
		out[0] += (float)(r >> 8);
	}
	}
	f = fopen("out.bin", "wb");
	fwrite(out, sizeof *out, left, f);
	fclose(f);
	printf("sum = %.9g\ntook %d ms\n", sum, (int)getpid() * 7 + VARIANT);
	return 0;
}
