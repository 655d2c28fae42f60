// Executes kernels work-item by work-item and counts what they do: numbers and
// buffers are classes whose operators count. Barriers switch between work-items.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <ucontext.h>
#include <vector>

enum { ADD, MUL, FMA_, DIV, SQRT, TRANS, SIMPLE, ACCESS, BARRIER, KINDS };
static double n[KINDS];

template <class T> struct N {
  T v;
  N() : v(0) {}
  N(T x) : v(x) {}
  N(int x) : v(T(x)) {}
  template <class U> N(U x) : v(T(x)) {}
  template <class U> N(N<U> x) : v(T(x.v)) {}
  explicit operator int() const { return int(v); }
  friend N operator+(N a, N b) { n[ADD]++; return N(T(a.v + b.v)); }
  friend N operator-(N a, N b) { n[ADD]++; return N(T(a.v - b.v)); }
  friend N operator*(N a, N b) { n[MUL]++; return N(T(a.v * b.v)); }
  friend N operator/(N a, N b) { n[DIV]++; return N(T(a.v / b.v)); }
  friend N operator-(N a) { n[SIMPLE]++; return N(T(-a.v)); }
  friend int operator<(N a, N b) { n[SIMPLE]++; return a.v < b.v; }
  friend int operator>(N a, N b) { n[SIMPLE]++; return a.v > b.v; }
  friend int operator<=(N a, N b) { n[SIMPLE]++; return a.v <= b.v; }
  friend int operator>=(N a, N b) { n[SIMPLE]++; return a.v >= b.v; }
  friend int operator==(N a, N b) { n[SIMPLE]++; return a.v == b.v; }
  friend int operator!=(N a, N b) { n[SIMPLE]++; return a.v != b.v; }
  N &operator+=(N b) { n[ADD]++; v += b.v; return *this; }
  N &operator-=(N b) { n[ADD]++; v -= b.v; return *this; }
  N &operator*=(N b) { n[MUL]++; v *= b.v; return *this; }
  friend N fma(N a, N b, N c) { n[FMA_]++; return N(T(a.v * b.v + c.v)); }
  friend N mad(N a, N b, N c) { n[FMA_]++; return N(T(a.v * b.v + c.v)); }
  friend N sqrt(N a) { n[SQRT]++; return N(T(std::sqrt(a.v))); }
  friend N rsqrt(N a) { n[SQRT]++; return N(T(1 / std::sqrt(a.v))); }
  friend N native_rsqrt(N a) { return rsqrt(a); }
  friend N fabs(N a) { n[SIMPLE]++; return N(T(std::fabs(a.v))); }
  friend N floor(N a) { n[SIMPLE]++; return N(T(std::floor(a.v))); }
  friend N fmin(N a, N b) { n[SIMPLE]++; return a.v < b.v ? a : b; }
  friend N fmax(N a, N b) { n[SIMPLE]++; return a.v > b.v ? a : b; }
#define TRANSCENDENTAL(f) \
  friend N f(N a) { n[TRANS]++; return N(T(std::f(a.v))); } \
  friend N native_##f(N a) { return f(a); }
  TRANSCENDENTAL(exp) TRANSCENDENTAL(log) TRANSCENDENTAL(sin) TRANSCENDENTAL(cos) TRANSCENDENTAL(tanh) TRANSCENDENTAL(atan)
};
typedef N<float> F4;
typedef N<double> F8;

template <class T> struct Buf {
  T *p;
  long low = 1L << 60, high = 0;
  T &operator[](long i) {
    n[ACCESS]++;
    if (i < low) low = i;
    if (i + 1 > high) high = i + 1;
    static T nothing;
    return p ? p[i] : nothing; // without memory only the indices count
  }
};

static int gid_[3], lid_[3], grp_[3], gs_[3], ls_[3];
static inline int get_global_id(int d) { return grp_[d] * ls_[d] + lid_[d]; }
static inline int get_local_id(int d) { return lid_[d]; }
static inline int get_group_id(int d) { return grp_[d]; }
static inline int get_global_size(int d) { return gs_[d]; }
static inline int get_local_size(int d) { return ls_[d]; }
static inline int get_num_groups(int d) { return gs_[d] / ls_[d]; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline double mad(double a, double b, double c) { return a * b + c; }
static inline int atomic_inc(int *p) { return (*p)++; }
static inline int atomic_add(int *p, int v) { int o = *p; *p += v; return o; }

static ucontext_t scheduler;
static std::vector<ucontext_t> items;
static std::vector<char> over;
static int current;
static void (*body)();
enum { CLK_LOCAL_MEM_FENCE = 1, CLK_GLOBAL_MEM_FENCE = 2 };
static void barrier(int) {
  n[BARRIER]++;
  swapcontext(&items[current], &scheduler);
}
static void enter() {
  body();
  over[current] = 1;
  swapcontext(&items[current], &scheduler);
}
static void launch(void (*f)()) {
  body = f;
  int group = ls_[0] * ls_[1] * ls_[2];
  static std::vector<char> stacks;
  const int each = 64 << 10;
  stacks.resize((size_t)group * each);
  items.resize(group);
  for (grp_[2] = 0; grp_[2] < gs_[2] / ls_[2]; grp_[2]++)
    for (grp_[1] = 0; grp_[1] < gs_[1] / ls_[1]; grp_[1]++)
      for (grp_[0] = 0; grp_[0] < gs_[0] / ls_[0]; grp_[0]++) {
        over.assign(group, 0);
        for (int i = 0; i < group; i++) {
          getcontext(&items[i]);
          items[i].uc_stack.ss_sp = &stacks[(size_t)i * each];
          items[i].uc_stack.ss_size = each;
          items[i].uc_link = 0;
          makecontext(&items[i], enter, 0);
        }
        for (int left = group; left > 0;) {
          left = 0;
          for (current = 0; current < group; current++) {
            if (over[current]) continue;
            lid_[0] = current % ls_[0], lid_[1] = current / ls_[0] % ls_[1], lid_[2] = current / ls_[0] / ls_[1];
            swapcontext(&scheduler, &items[current]);
            left += !over[current];
          }
        }
      }
}

static unsigned long long rnd;
static unsigned next() {
  rnd = rnd * 6364136223846793005ULL + 1442695040888963407ULL;
  return unsigned(rnd >> 33);
}
template <class T> T *fill(long count, const char *how, long a, long b) {
  T *p = new T[count + 1];
  for (long i = 0; i < count; i++) {
    switch (how[0]) {
    case 'u': p[i] = T(next() / 2147483648.0); break;    // uniform in [0, 1)
    case 'r': p[i] = T(int(a + next() % (b - a))); break; // in [a, b)
    case 'i': p[i] = T(int(a + i * b)); break;
    default: p[i] = T(0);
    }
  }
  return p;
}
