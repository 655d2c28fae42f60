// A bilateral filter: the mean of a pixel's neighbourhood, of which those count more
// that are near, and those that are of much the same brightness.
__kernel void bilateral(int n, int radius, float space, float range, __global const float *restrict in, __global float *restrict out)
{
    int y = get_global_id(0);
    int x = get_global_id(1);
    if (x >= n || y >= n)
        return;
    float sum = 0, weights = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++)
            if (x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n) {
                float v = in[(y + dy) * n + x + dx];
                float d = v - in[y * n + x];
                float near = exp(-(dx * dx + dy * dy) / (2 * space * space));
                float alike = exp(-pow(d, 2.0f) / (2 * range * range));
                sum += near * alike * v;
                weights += near * alike;
            }
    out[y * n + x] = sum / weights;
}
