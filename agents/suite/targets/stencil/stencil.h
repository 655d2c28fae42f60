void step(int n, double dt, double h, const double *k, const double *u, double *v);
