// The rank of the right class of each row of scores: how many others have a higher
// score. The row is a hit where that is below k.
__kernel void accuracy(int rows, int classes, int k, __global const float *restrict scores, __global const int *restrict labels,
    __global int *restrict rank, __global int *restrict hits)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    rank[row] = 0;
    for (int c = 0; c < classes; c++)
        if (scores[row * classes + c] > scores[row * classes + labels[row]])
            rank[row] += 1;
    if (rank[row] < k)
        atomic_inc(hits);
}
