double sum(const double *x, int n);
