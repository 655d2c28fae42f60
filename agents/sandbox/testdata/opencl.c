// Doubles four numbers with OpenCL. The prototypes stand here, since the
// loader's package comes without headers; ids are pointers, properties and
// flags 64 bits.
#include <stddef.h>
#include <stdio.h>

typedef void *id;
int clGetPlatformIDs(unsigned, id *, unsigned *);
int clGetDeviceIDs(id, unsigned long, unsigned, id *, unsigned *);
id clCreateContext(void *, unsigned, id *, void *, void *, int *);
id clCreateCommandQueue(id, id, unsigned long, int *);
id clCreateProgramWithSource(id, unsigned, const char **, void *, int *);
int clBuildProgram(id, unsigned, id *, const char *, void *, void *);
id clCreateKernel(id, const char *, int *);
id clCreateBuffer(id, unsigned long, size_t, void *, int *);
int clSetKernelArg(id, unsigned, size_t, const void *);
int clEnqueueNDRangeKernel(id, id, unsigned, void *, const size_t *, const size_t *, unsigned, void *, void *);
int clEnqueueReadBuffer(id, id, unsigned, size_t, size_t, void *, unsigned, void *, void *);

int main(void)
{
	const char *source = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }";
	int x[4] = {1, 2, 3, 4}, e = 0;
	size_t n = 4;
	unsigned found = 0;
	id platform, device;
	if (clGetPlatformIDs(1, &platform, &found) || clGetDeviceIDs(platform, 0xffffffff, 1, &device, &found)) {
		puts("no device");
		return 1;
	}
	id context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
	id queue = clCreateCommandQueue(context, device, 0, &e);
	id program = clCreateProgramWithSource(context, 1, &source, NULL, &e);
	e = clBuildProgram(program, 1, &device, "", NULL, NULL);
	if (e) {
		printf("build: %d\n", e);
		return 1;
	}
	id kernel = clCreateKernel(program, "twice", &e);
	id buffer = clCreateBuffer(context, 1 | 32, sizeof x, x, &e); // read and write, copied from x
	e |= clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
	e |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL);
	e |= clEnqueueReadBuffer(queue, buffer, 1, 0, sizeof x, x, 0, NULL, NULL);
	printf("%d: %d %d %d %d\n", e, x[0], x[1], x[2], x[3]);
	return 0;
}
