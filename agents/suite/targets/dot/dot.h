double dot(int n, const double *x, const double *y);
