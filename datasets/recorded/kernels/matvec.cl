// y = A x, one row for each work-item.
__kernel void matvec(const int n, __global const float *a, __global const float *x, __global float *y)
{
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * x[k];
    y[row] = sum;
}
