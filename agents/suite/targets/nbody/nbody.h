void accelerate(int n, double g, double soft, const double *m, const double *x, const double *y, const double *z,
                double *ax, double *ay, double *az);
