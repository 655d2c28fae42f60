// One step of a bitonic sort: pairs at a distance are put into order.
__kernel void bitonic(const int distance, const int block, __global int *keys)
{
    int i = get_global_id(0), j = i ^ distance;
    if (j <= i)
        return;
    int a = keys[i], b = keys[j];
    int up = (i & block) == 0;
    if ((a > b) == up) {
        keys[i] = b;
        keys[j] = a;
    }
}
