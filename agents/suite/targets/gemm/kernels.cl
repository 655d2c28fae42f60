// c = a * b of square matrices in rows: one work-item for each element.
__kernel void gemm(int n, __global const float *a, __global const float *b, __global float *c)
{
    int i = get_global_id(0);
    int j = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}
