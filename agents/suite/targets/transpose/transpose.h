void transpose(int n, const double *a, double *b);
