#include "program.h"

KERNEL long mandelbrot(long w, long limit)
{
    long sum = 0;
    for (long py = 0; py < w; py++)
        for (long px = 0; px < w; px++) {
            double cx = -2 + 3.0 * px / w, cy = -1.5 + 3.0 * py / w, x = 0, y = 0;
            long n = 0;
            while (n < limit && x * x + y * y < 4) {
                double t = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = t;
                n++;
            }
            sum += n;
        }
    return sum;
}

int main(int argc, char **argv)
{
    printf("%ld\n", mandelbrot(size(argc, argv), 100));
}
