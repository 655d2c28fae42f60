// Seven points on a cube of w by w by w, in double precision.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void stencil3d(const int w, __global const double *in, __global double *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int at = (z * w + y) * w + x;
    if (x == 0 || y == 0 || z == 0 || x == w - 1 || y == w - 1 || z == w - 1) {
        out[at] = in[at];
        return;
    }
    out[at] = 0.4 * in[at] + 0.1 * (in[at - 1] + in[at + 1] + in[at - w] + in[at + w] + in[at - w * w] + in[at + w * w]);
}
