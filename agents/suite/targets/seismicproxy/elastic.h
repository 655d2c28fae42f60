// A field has COMPONENTS components; each is n x n x n numbers, of which those along
// x lie next to each other, and those along z are the farthest apart.
#define COMPONENTS 3

void divergence(int n, double h, const double *u, double *div);
void force(int n, double h, const double *mu, const double *lambda, const double *u, const double *div, double *f);
void predict(int n, double dt, const double *rho, const double *u, const double *before, const double *f, double *next);
void supergrid(int n, double strength, const double *layer, const double *u, const double *before, double *next);
void rotate(int n, double *before, double *u, const double *next);
