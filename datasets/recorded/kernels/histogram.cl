// How often each of 256 values occurs: atomically in global memory, and in
// local memory first.
__kernel void histogram(__global const uchar *in, __global int *bins)
{
    atomic_inc(&bins[in[get_global_id(0)]]);
}

__kernel void histogram_local(const int each, __global const uchar *in, __global int *bins)
{
    __local int mine[256];
    int l = get_local_id(0), size = get_local_size(0);
    for (int b = l; b < 256; b += size)
        mine[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int from = get_group_id(0) * size * each;
    for (int k = 0; k < each; k++)
        atomic_inc(&mine[in[from + k * size + l]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = l; b < 256; b += size)
        atomic_add(&bins[b], mine[b]);
}
