// The triad of STREAM on vectors of four.
__kernel void triad4(const float s, __global const float4 *b, __global const float4 *c, __global float4 *a)
{
    int i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}
