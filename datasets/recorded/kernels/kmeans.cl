// Finds the nearest of k centres for each point in DIM dimensions.
#ifndef DIM
#define DIM 8
#endif

__kernel void kmeans(const int k, __global const float *points, __global const float *centres, __global int *nearest)
{
    int i = get_global_id(0), best = 0;
    float least = FLT_MAX;
    for (int c = 0; c < k; c++) {
        float sum = 0;
        for (int d = 0; d < DIM; d++) {
            float diff = points[i * DIM + d] - centres[c * DIM + d];
            sum += diff * diff;
        }
        if (sum < least) {
            least = sum;
            best = c;
        }
    }
    nearest[i] = best;
}
