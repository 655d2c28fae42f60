#include <stdio.h>
#include "sum.h"

int main(void)
{
	double x[] = {1, 2, 3.5};
	printf("%g\n", sum(x, 3));
	return 0;
}
