// A filter of (2 R + 1) by (2 R + 1) over a picture of w by w, which has a
// margin of R on each side.
#ifndef R
#define R 2
#endif
#define F (2 * R + 1)

__kernel void convolution(const int w, __global const float *in, __constant float *filter, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1);
    int pitch = w + 2 * R;
    float sum = 0;
    for (int v = 0; v < F; v++)
        for (int u = 0; u < F; u++)
            sum += filter[v * F + u] * in[(y + v) * pitch + x + u];
    out[y * w + x] = sum;
}
