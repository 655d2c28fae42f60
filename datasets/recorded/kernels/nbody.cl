// The acceleration that n bodies (x, y, z, mass) give to each other.
__kernel void nbody(const int n, __global const float4 *body, __global float4 *acceleration)
{
    int i = get_global_id(0);
    float4 me = body[i], sum = (float4)(0);
    for (int j = 0; j < n; j++) {
        float4 d = body[j] - me;
        float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 0.01f;
        float inverse = 1.0f / sqrt(r2);
        float s = body[j].w * inverse * inverse * inverse;
        sum.x += d.x * s;
        sum.y += d.y * s;
        sum.z += d.z * s;
    }
    acceleration[i] = sum;
}
