void saxpy(long n, float a, const float *restrict x, float *restrict y)
{
    for (long i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

double matvec(long n, const double *a, const double *x, double *restrict y)
{
    double total = 0;
    for (long i = 0; i < n; i++) {
        double s = 0;
        for (long j = 0; j < n; j++)
            s += a[i * n + j] * x[j];
        y[i] = s;
        total += s;
    }
    return total;
}
