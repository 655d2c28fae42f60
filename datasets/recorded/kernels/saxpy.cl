// y = a x + y, in single and in double precision.
__kernel void saxpy(const float a, __global const float *x, __global float *y)
{
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void daxpy(const double a, __global const double *x, __global double *y)
{
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
