#include <vector>
#include <string>
#include <map>
#include <iostream>
#include <stdexcept>
#include <algorithm>
#include <cmath>
#include <complex>
struct A { virtual ~A() {} virtual int f(int) = 0; };
struct B : A { int f(int x) override { if (x > 3) throw std::runtime_error("x"); return x; } };
template <class T> T dot(const std::vector<T>& a, const std::vector<T>& b) { T s{}; for (size_t i = 0; i < a.size(); i++) s += a[i]*b[i]; return s; }
double run(std::map<std::string,double>& m, std::vector<double> v) { std::sort(v.begin(), v.end()); try { B b; A* a=&b; m["x"] = a->f(v.size()); } catch (std::exception& e) { std::cerr << e.what(); } return dot(v, v) + std::sin(v[0]) + std::pow(v[1], 2.5); }
std::complex<float> c(std::complex<float> x) { return x*x; }
__int128 wide(__int128 a) { return a*a; }
int at(int* p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST) + __atomic_compare_exchange_n(p, p+1, 3, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); }
int asmf(int x) { asm volatile("nop" : "+r"(x) :: "memory"); return x; }
int goton(int x) { static void* t[] = {&&a, &&b}; goto *t[x]; a: return 1; b: return 2; }
typedef float v4 __attribute__((vector_size(16)));
v4 vv(v4 a, v4 b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5) * a; }
int va(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n); int r = __builtin_va_arg(l, int); __builtin_va_end(l); return r; }
