#define CHANNELS 5 // of a reaction: total, elastic, absorption, fission, production

void bucket(int particles, int buckets, double least, double most, const double *energy, int *in);
void macroscopic(int particles, int points, int buckets, const double *energy, const int *material, const int *in,
                 const int *first, const int *nuclide, const double *density, const int *index, const double *grid,
                 const double *table, double *macro);
void score(int particles, int detectors, const double *weight, const double *macro, const double *x, const double *y,
           const double *z, const double *at_x, const double *at_y, const double *at_z, double *hits);
