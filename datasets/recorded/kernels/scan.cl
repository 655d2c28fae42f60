// Running sums within each work-group, with a doubling distance.
__kernel void scan(__global const int *in, __global int *out, __local int *scratch)
{
    int l = get_local_id(0), i = get_global_id(0);
    scratch[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < get_local_size(0); d *= 2) {
        int before = l >= d ? scratch[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        scratch[l] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = scratch[l];
}
