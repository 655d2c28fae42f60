// Writes input.bin: argv[2] float32 values from the seed argv[1].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t s = strtoull(argv[1], NULL, 10);
	int n = atoi(argv[2]);
	FILE *f = fopen("input.bin", "wb");
	if (!f)
		return 1;
	for (int i = 0; i < n; i++) {
		s = s * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
		float x = (float)(s >> 40) / (1 << 24);
		fwrite(&x, sizeof x, 1, f);
	}
	return fclose(f);
}
