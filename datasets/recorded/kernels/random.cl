// Steps of a xorshift generator for each work-item: integers alone.
__kernel void xorshift(const int rounds, __global uint *state)
{
    int i = get_global_id(0);
    uint s = state[i];
    for (int k = 0; k < rounds; k++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
    }
    state[i] = s;
}
