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

// hits are what the detectors count: the sum over all particles of weight, response
// of the detector to a particle where it is, and how much of it reacts.
void score(int particles, int detectors, const double *weight, const double *macro, const double *response, double *hits)
{
    for (int d = 0; d < detectors; d++)
        hits[d] = 0;
    for (int p = 0; p < particles; p++)
        for (int d = 0; d < detectors; d++)
            hits[d] += weight[p] * response[d * particles + p] * (macro[p * CHANNELS + 1] + macro[p * CHANNELS + 2]) /
                       macro[p * CHANNELS];
}
