// Copies every stride-th element: what a cache line costs that is used in part.
__kernel void strided(const int stride, __global const float *in, __global float *out)
{
    int i = get_global_id(0);
    out[i] = in[i * stride];
}
