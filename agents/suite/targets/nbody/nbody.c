#include <math.h>
#include "nbody.h"

// The acceleration of n bodies by the gravity of all others. soft is the length
// below which the force grows no more.
void accelerate(int n, double g, double soft, const double *m, const double *x, const double *y, const double *z,
                double *ax, double *ay, double *az)
{
    for (int i = 0; i < n; i++) {
        ax[i] = 0;
        ay[i] = 0;
        az[i] = 0;
        for (int j = 0; j < n; j++) {
            double dx = x[j] - x[i];
            double dy = y[j] - y[i];
            double dz = z[j] - z[i];
            double d2 = dx * dx + dy * dy + dz * dz + soft * soft;
            double f = g * m[j] / pow(d2, 1.5);
            ax[i] += f * dx;
            ay[i] += f * dy;
            az[i] += f * dz;
        }
    }
}
