"""CUDA functions that programs call: sine and cosine together, and reciprocals of pivots.

CUDA's own sincos carries a slow path for huge arguments at every call, which fills the instruction
cache of a straight-line program. Here the slow path is one function that is not inlined; the fast
one is a Cody–Waite reduction and two minimax polynomials on |r| ≤ π/4 (coefficients of fdlibm and
Cephes), within 2 ulp.
"""

from __future__ import annotations

__all__ = ["CALM", "FRESH", "PRELUDE", "PUT", "WRITE_COLUMNS", "WRITE_PIECE"]

_FLOAT = """
#ifdef __CUDACC__
#define low_word __double2loint
#define NOT_A_NUMBER __int_as_float(0x7fffffff)
#else
static inline int low_word(double x) { union { double x; int w[2]; } u = {x}; return u.w[0]; }
#define NOT_A_NUMBER __builtin_nanf("")
#endif
__device__ __noinline__ float2 huge_sincos(T x) { float2 y; sincosf(x, &y.x, &y.y); return y; }
__device__ __forceinline__ void fast_sincos(T x, T* s, T* c) {
  T n = rintf(x * 0.636619772f);
  T r = fmaf(n, -1.57079625f, x);
  r = fmaf(n, -7.54978942e-08f, r);
  r = fmaf(n, -5.39030295e-15f, r);
  T z = r * r;
  T p = fmaf(z, fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f);
  T a = fmaf(r * z, p, r);
  T b = fmaf(z, fmaf(z, fmaf(z, fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f),
        4.166664568298827e-2f), -0.5f), 1.0f);
  int q = (int)n;
  T u = q & 1 ? b : a, v = q & 1 ? a : b;
  *s = q & 2 ? -u : u;
  *c = (q + 1) & 2 ? -v : v;
  if (!(fabsf(x) < 48000.0f)) { float2 y = huge_sincos(x); *s = y.x; *c = y.y; }
}
__device__ __forceinline__ void calm_sincos(T x, T* s, T* c) {
  double m = fma((double)x, 0.6366197723675814, 6755399441055744.0);
  double n = m - 6755399441055744.0;
  T r = (T)fma(n, -6.123233995736766e-17, fma(n, -1.5707963267948966, (double)x));
  T z = r * r;
  T p = fmaf(z, fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f);
  T a = fmaf(r * z, p, r);
  T b = fmaf(z, fmaf(z, fmaf(z, fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f),
        4.166664568298827e-2f), -0.5f), 1.0f);
  int q = low_word(m);
  T u = q & 1 ? b : a, v = q & 1 ? a : b;
  *s = q & 2 ? -u : u;
  *c = (q + 1) & 2 ? -v : v;
  if (!(fabsf(x) < 1e15f)) *s = *c = NOT_A_NUMBER;
}
__device__ __forceinline__ T reciprocal(T x) {  // of a number that is not zero
  T r = __fdividef(1.0f, x);
  return fmaf(r, fmaf(-x, r, 1.0f), r);
}
__device__ __forceinline__ T calm_sqrt(T x) {  // within 1 ulp, without a branch
  T r = rsqrtf(x), s = x * r;
  s = fmaf(0.5f * r, fmaf(-s, s, x), s);
  return x == 0.0f || x == INFINITY ? x : s;
}
"""

_DOUBLE = """
__device__ __noinline__ double2 huge_sincos(T x) { double2 y; sincos(x, &y.x, &y.y); return y; }
__device__ __forceinline__ void fast_sincos(T x, T* s, T* c) {
  T n = rint(x * 0.6366197723675814);
  T r = fma(n, -1.5707963267948966, x);
  r = fma(n, -6.123233995736766e-17, r);
  r = fma(n, 1.4973849048591833e-33, r);
  T z = r * r;
  T p = fma(z, fma(z, fma(z, fma(z, fma(z, 1.58969099521155010221e-10,
        -2.50507602534068634195e-08), 2.75573137070700676789e-06), -1.98412698298579493134e-04),
        8.33333333332248946124e-03), -1.66666666666666324348e-01);
  T a = fma(r * z, p, r);
  T o = fma(z, fma(z, fma(z, fma(z, fma(z, -1.13596475577881948265e-11,
        2.08757232129817482790e-09), -2.75573143513906633035e-07), 2.48015872894767294178e-05),
        -1.38888888888741095749e-03), 4.16666666666666019037e-02);
  T h = 0.5 * z, w = 1.0 - h;
  T b = w + fma(z * z, o, (1.0 - w) - h);
  int q = (int)n;
  T u = q & 1 ? b : a, v = q & 1 ? a : b;
  *s = q & 2 ? -u : u;
  *c = (q + 1) & 2 ? -v : v;
  if (!(fabs(x) < 100000.0)) { double2 y = huge_sincos(x); *s = y.x; *c = y.y; }
}
__device__ __forceinline__ void calm_sincos(T x, T* s, T* c) { fast_sincos(x, s, c); }
__device__ __forceinline__ T reciprocal(T x) { return 1.0 / x; }
__device__ __forceinline__ T calm_sqrt(T x) { return sqrt(x); }
"""

#: The sine and cosine of large programs; their square root is `calm_sqrt`. The way that huge angles
#: take is a branch at every joint, which no statement of a straight-line program may pass; in
#: float32 this one has none: it reduces in double, for angles below 1e15 rad, within 2 ulp, and
#: gives NaN for others. CUDA's square root branches where it is of zero, as pivots of loops are.
CALM = "calm_sincos"

#: A warp writes `many` columns of its 32 rows, which its threads put into shared memory.
WRITE_COLUMNS = """
__device__ __forceinline__ void write_columns(
    T* y, int size, int many, Int rows, const T* stage, int lane) {
  __syncwarp();
  if (many == 32 && rows >= 32) {
    #pragma unroll
    for (int r = 0; r < 32; ++r) y[r * size + lane] = stage[33 * r + lane];
  } else {
    #pragma unroll 4
    for (int t = lane; t < 32 * many; t += 32) {
      const int r = t / many, c = t - r * many;
      if (r < rows) y[(Int)r * size + c] = stage[33 * r + c];
    }
  }
  __syncwarp();
}"""

#: A warp writes a piece of up to 8 numbers of its 32 rows, eight lanes a row: y and stage are where
#: the lane's first number goes and lies. The last warp may have fewer rows.
WRITE_PIECE = """
__device__ __forceinline__ void write_piece(
    T* y, int size, int many, int rows, const T* stage, int lane) {
  __syncwarp();
  if (lane % 8 < many) {
    if (rows >= 32) {
      #pragma unroll
      for (int i = 0; i < 8; ++i) y[i * size] = stage[9 * i];
    } else {
      #pragma unroll 1
      for (int i = 0; i < 8; ++i)
        if (lane / 8 * 8 + i < rows) y[i * size] = stage[9 * i];
    }
  }
  __syncwarp();
}"""

#: Read an argument here, and not where it was read before.
FRESH = {
    T: f"""
__device__ __forceinline__ T fresh(const T* place) {{
#ifdef __CUDACC__
  T x;
  asm volatile("ld.global.nc.{kind} %0, [%1];" : "={letter}"(x) : "l"(place));
  return x;
#else
  return *place;
#endif
}}"""
    for T, kind, letter in (("float", "f32", "f"), ("double", "f64", "d"))
}

#: A thread writes number J of its sample where all samples of a number lie together, `pitch` bytes
#: from one number to the next. One instruction makes the address: left to itself the compiler keeps
#: addresses in registers for the next ones.
PUT = {
    T: f"""
template <unsigned J> __device__ __forceinline__ void put(T* sample, unsigned pitch, T x) {{
#ifdef __CUDACC__
  asm volatile("{{.reg .u64 a; mad.wide.u32 a, %1, %2, %0; st.global.{kind} [a], %3;}}"
               :: "l"(sample), "r"(pitch), "n"(J), "{letter}"(x));
#else
  *(T*)((char*)sample + (unsigned long long)pitch * J) = x;
#endif
}}"""
    for T, kind, letter in (("float", "f32", "f"), ("double", "f64", "d"))
}

_INFINITE = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)
#endif"""

#: The functions, by the C type of the numbers.
PRELUDE = {"float": _INFINITE + _FLOAT, "double": _INFINITE + _DOUBLE}
