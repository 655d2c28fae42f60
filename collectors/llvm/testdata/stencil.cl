__kernel void stencil(const int w, __global const float *in, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1);
    out[y * w + x] = 0.25f * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
}

__kernel void transpose(const int w, __global const float *in, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1);
    out[x * w + y] = in[y * w + x];
}

__kernel void spmv(const int rows, __global const int *ptr, __global const int *col, __global const double *val,
                   __global const double *x, __global double *y)
{
    int r = get_global_id(0);
    if (r >= rows)
        return;
    double s = 0;
    for (int k = ptr[r]; k < ptr[r + 1]; k++)
        s = fma(val[k], x[col[k]], s);
    y[r] = s;
}

__kernel void reduce(__global const float *in, __global float *out, __local float *scratch)
{
    int l = get_local_id(0);
    scratch[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = get_local_size(0) / 2; d > 0; d /= 2) {
        if (l < d)
            scratch[l] += scratch[l + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = scratch[0];
}
