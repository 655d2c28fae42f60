#include "scan.h"

// s are the running sums of a along its rows; a has h rows of w numbers.
void along_rows(int w, int h, const double *a, double *s)
{
    for (int y = 0; y < h; y++) {
        s[y * w] = a[y * w];
        for (int x = 1; x < w; x++)
            s[y * w + x] = s[y * w + x - 1] + a[y * w + x];
    }
}

// Running sums along columns, in place.
void along_columns(int w, int h, double *s)
{
    for (int x = 0; x < w; x++)
        for (int y = 1; y < h; y++)
            s[y * w + x] += s[(y - 1) * w + x];
}

// a is the mean of the square of 2r+1 by 2r+1 numbers around each place, by the
// sums at the corners of the square; the rim stays as it is.
void means(int w, int h, int r, const double *s, double *a)
{
    for (int x = r + 1; x < w - r; x++)
        for (int y = r + 1; y < h - r; y++)
            a[y * w + x] = (s[(y + r) * w + x + r] - s[(y + r) * w + x - r - 1] - s[(y - r - 1) * w + x + r] +
                            s[(y - r - 1) * w + x - r - 1]) /
                           ((2 * r + 1) * (2 * r + 1));
}
