// Kernels for tests: each is small enough to know its result by heart.
#ifndef SCALE
#define SCALE 1
#endif

float twice(float v) { return 2 * v; }

__kernel void saxpy(const int n, const float a, __global const float *x, __global float *y)
{
    int i = get_global_id(0);
    if (i < n) { y[i] = SCALE * a * x[i] + y[i]; }
}

__kernel void groups(__global int *out, __local int *scratch)
{
    int l = get_local_id(0);
    scratch[l] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        int sum = 0;
        for (int i = 0; i < get_local_size(0); i++) sum += scratch[i];
        out[get_group_id(0)] = sum;
    }
}

__kernel void axpy4(float4 a, __global const float4 *x, __global float4 *y)
{
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    y[i] = a * x[i];
}

__kernel void crash(__global int *out)
{
    __global volatile int *nowhere = (__global volatile int *)(ulong)8;
    out[get_global_id(0)] = *nowhere;
}

__kernel void endless(__global volatile int *out)
{
    while (out[0] == 0) { }
}

__kernel void untouched(__global half *h)
{
}

kernel void huge(global double *y) { y[get_global_id(0)] = 1.7e308; }
