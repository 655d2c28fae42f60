void along_rows(int w, int h, const double *a, double *s);
void along_columns(int w, int h, double *s);
void means(int w, int h, int r, const double *s, double *a);
