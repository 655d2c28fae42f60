// The sum and the largest of the products of a signal with itself, some samples
// later: each work-item goes through a part of it.
__kernel void correlate(int n, int lag, int part, __global const int *restrict x, __global int *restrict sum, __global int *restrict peak)
{
    int from = get_global_id(0) * part;
    int end = min(from + part, n - lag);
    for (int i = from; i < end; i++) {
        atomic_add(&sum[lag], x[i] * x[i + lag]);
        atomic_max(&peak[lag], x[i] * x[i + lag]);
    }
}
