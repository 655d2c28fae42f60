// Turns a square matrix of n by n: directly, and through a tile in local memory
// so that both sides are read and written in rows.
#ifndef TILE
#define TILE 16
#endif

__kernel void transpose(const int n, __global const float *in, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1);
    out[x * n + y] = in[y * n + x];
}

__kernel void transpose_tiled(const int n, __global const float *in, __global float *out)
{
    __local float tile[TILE][TILE + 1];
    int x = get_local_id(0), y = get_local_id(1);
    int left = get_group_id(0) * TILE, top = get_group_id(1) * TILE;
    tile[y][x] = in[(top + y) * n + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(left + y) * n + top + x] = tile[x][y];
}
