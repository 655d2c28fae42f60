/* What a device does not like: each kernel has something to be found. */

__kernel void product(const int n, __global const float *restrict a, __global const float *restrict b, __global float *restrict c)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

__kernel void turn(const int n, __global const float *restrict in, __global float *restrict out)
{
    int x = get_global_id(0), y = get_global_id(1);
    out[x * n + y] = 2 * in[y * n + x];
}

__kernel void columns(const int n, __global const float *restrict in, __global float *restrict out)
{
    int row = get_global_id(0), col = get_global_id(1);
    if (row > 0)
        out[row * n + col] = in[row * n + col] + in[(row - 1) * n + col];
}

__kernel void sums(const int n, __global const int *in, __global int *out, __local int *part)
{
    int l = get_local_id(0), size = get_local_size(0);
    part[l] = in[get_global_id(0)] % n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        int s = 0;
        for (int k = 0; k < size; k++)
            s += part[k];
        out[get_group_id(0)] = s;
    }
}

__kernel void rows(const int n, __global const float *restrict a, __global const float *restrict x, __global float *restrict y)
{
    int i = get_global_id(0);
    for (int k = 0; k < n; k++)
        y[i] += a[k * n + i] * (x[i] / 4.0f);
    if (y[i] < 0)
        y[i] = 0;
    else
        y[i] = y[i] / 2.0f;
}

__kernel void turned(const int n, __global const float *restrict a, __global const float *restrict b, __global float *restrict c)
{
    int row = get_global_id(0), col = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

__kernel void tallies(const int n, __global const int *restrict in, __global int *restrict out)
{
    int i = get_global_id(0);
    for (int k = i % 7; k < n; k++) {
        int v = in[i * n + k];
        atomic_add(&out[i % 3], v);
        if (v & 1)
            atomic_inc(&out[6]);
        atomic_sub(out + 7, v | 3);
    }
}

__kernel void peaks(const int n, __global const int *restrict in, __global int *restrict out)
{
    int i = get_global_id(0);
    for (int k = 0; k < n; k++)
        atomic_max(&out[i % 3], in[i * n + k]);
}
