void fill(int channels, int events, int bins, const float *pulse, const double *gain, const double *offset,
          const double *lowest, const double *highest, int *count);
