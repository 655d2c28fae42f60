// Reads where an index says: the latency of memory.
__kernel void gather(__global const int *index, __global const float *table, __global float *out)
{
    int i = get_global_id(0);
    out[i] = table[index[i]];
}
