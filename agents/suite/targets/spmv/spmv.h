void walk(int n, double stay, const int *start, const int *neighbour, const double *weight, const double *strength,
          const double *x, double *y);
