// Points of Sobol's sequence, one work-item for each coordinate: the exclusive or
// of the direction numbers at the bits of the point's Gray code, shifted.
__kernel void points(int n, int dims, __global const uint *restrict directions, __global const uint *restrict shift, __global uint *restrict x)
{
    int id = get_global_id(0);
    if (id >= n * dims)
        return;
    int i = id / dims, d = id % dims;
    uint gray = i ^ (i >> 1);
    x[d * n + i] = shift[d];
    for (int k = 0; k < 32; k++)
        if ((gray >> k) & 1)
            x[d * n + i] ^= directions[d * 32 + k];
}

// Sobol's g function at each point: a product over coordinates.
__kernel void integrand(int n, int dims, __global const uint *restrict x, __global float *restrict value)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    value[i] = 1;
    for (int d = 0; d < dims; d++)
        value[i] *= (fabs(4 * (x[d * n + i] * 2.3283064e-10f) - 2) + d) / (1 + d);
}
