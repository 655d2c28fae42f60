#include <math.h>
#include "histogram.h"

// The spectrum of each channel: how many events have an energy in which bin. A
// pulse's height is the energy by the channel's gain and offset; bins lie evenly
// in the logarithm of the energy, from the channel's lowest to its highest.
void fill(int channels, int events, int bins, const float *pulse, const double *gain, const double *offset,
          const double *lowest, const double *highest, int *count)
{
    for (int c = 0; c < channels; c++)
        for (int e = 0; e < events; e++) {
            double energy = gain[c] * pulse[c * events + e] + offset[c];
            double place = (log(energy) - log(lowest[c])) / (log(highest[c]) - log(lowest[c]));
            int bin = (int)floor(bins * place);
            if (bin >= 0 && bin < bins)
                count[c * bins + bin]++;
        }
}
