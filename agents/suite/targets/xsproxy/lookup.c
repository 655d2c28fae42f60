#include <math.h>
#include "lookup.h"

// in is the bucket that each particle's energy falls into. Buckets lie evenly in
// the logarithm of the energy, as the resonances of nuclides about do.
void bucket(int particles, int buckets, double least, double most, const double *energy, int *in)
{
    for (int p = 0; p < particles; p++) {
        int b = (int)(buckets * log(energy[p] / least) / log(most / least));
        in[p] = b < 0 ? 0 : b >= buckets ? buckets - 1 : b;
    }
}

// macro are the macroscopic cross sections that each particle sees, for all
// channels: the sum over the nuclides of its material of density times microscopic
// cross section, which is interpolated between the two points of the nuclide's
// grid around the particle's energy. The nuclides of material m are nuclide[first[m]]
// to nuclide[first[m+1]-1]. index says where in a nuclide's grid a bucket begins.
void macroscopic(int particles, int points, int buckets, const double *energy, const int *material, const int *in,
                 const int *first, const int *nuclide, const double *density, const int *index, const double *grid,
                 const double *table, double *macro)
{
    for (int p = 0; p < particles; p++) {
        for (int c = 0; c < CHANNELS; c++)
            macro[p * CHANNELS + c] = 0;
        for (int k = first[material[p]]; k < first[material[p] + 1]; k++) {
            int at = index[nuclide[k] * buckets + in[p]];
            while (at < points - 2 && grid[nuclide[k] * points + at + 1] <= energy[p])
                at++;
            int low = nuclide[k] * points + at;
            for (int c = 0; c < CHANNELS; c++)
                macro[p * CHANNELS + c] += density[k] * (table[low * CHANNELS + c] +
                                                         (energy[p] - grid[low]) / (grid[low + 1] - grid[low]) *
                                                             (table[(low + 1) * CHANNELS + c] - table[low * CHANNELS + c]));
        }
    }
}

// hits are what the detectors count: of each particle, of its weight, the part that
// reacts and does not vanish, spread over the sphere around the particle on which
// the detector lies (the estimator of the next event, without what is in between).
void score(int particles, int detectors, const double *weight, const double *macro, const double *x, const double *y,
           const double *z, const double *at_x, const double *at_y, const double *at_z, double *hits)
{
    for (int d = 0; d < detectors; d++)
        hits[d] = 0;
    for (int p = 0; p < particles; p++)
        for (int d = 0; d < detectors; d++) {
            double dx = at_x[d] - x[p];
            double dy = at_y[d] - y[p];
            double dz = at_z[d] - z[p];
            hits[d] += weight[p] * (macro[p * CHANNELS + 1] + macro[p * CHANNELS + 3]) / macro[p * CHANNELS] /
                       (4 * M_PI * (dx * dx + dy * dy + dz * dz));
        }
}
