double dot(int n, const double *x, const double *y);
void gram(int m, int n, const double *v, double *g);
