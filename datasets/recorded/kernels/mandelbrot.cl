// How many steps each point of a w by w picture stays small, up to limit: work
// that differs between neighbours.
__kernel void mandelbrot(const int w, const int limit, __global int *steps)
{
    int px = get_global_id(0), py = get_global_id(1);
    float cx = -2.0f + 3.0f * px / w, cy = -1.5f + 3.0f * py / w;
    float x = 0, y = 0;
    int n = 0;
    while (n < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        n++;
    }
    steps[py * w + px] = n;
}
