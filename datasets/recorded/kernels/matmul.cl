// c = a b for square matrices of n by n: as it is defined, and through local
// memory in tiles of TILE by TILE, which are work-groups.
#ifndef TILE
#define TILE 16
#endif

__kernel void matmul(const int n, __global const float *a, __global const float *b, __global float *c)
{
    int col = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

__kernel void matmul_tiled(const int n, __global const float *a, __global const float *b, __global float *c)
{
    __local float ta[TILE][TILE], tb[TILE][TILE];
    int col = get_global_id(0), row = get_global_id(1);
    int x = get_local_id(0), y = get_local_id(1);
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        ta[y][x] = a[row * n + t + x];
        tb[y][x] = b[(t + y) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += ta[y][k] * tb[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
