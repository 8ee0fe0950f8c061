"""Vector sin, cos and atan2 as LLVM IR text: at most 2 ulp, for every argument.

sin and cos: x = n π/2 + r with |r| ≤ π/4. Up to a limit, n is exact and π/2 in three parts takes n
π/2 off with three fused multiply-adds (Cody and Waite): the first difference is exact, so r keeps
its relative accuracy also near multiples of π/2. Beyond it a lane is reduced with the bits of 2/π
that matter (Payne and Hanek), one by one; other lanes keep what they have.

atan2: the quotient of the smaller by the larger coordinate, turned by π/4 where it exceeds ½ (then
their difference is exact), a polynomial, and the octant's multiple of π/4 in two parts.

The polynomials are Chebyshev fits (mpmath.chebyfit) of (sin r / r − 1)/r², (cos r − 1 + r²/2)/r⁴
and (atan u / u − 1)/u² in r², u².
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["Text", "atan2", "sincos", "splat"]

_PI_2 = {  # π/2 = Σ parts; the first part is π/2 rounded
    "double": (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"),
               float.fromhex("-0x1.f1976b7ed8fbcp-110")),
    "float": (float.fromhex("0x1.921fb6p+0"), float.fromhex("-0x1.777a5cp-25"),
              float.fromhex("-0x1.ee59dap-50")),
}  # fmt: skip
_LIMIT = {"double": 2.0**30, "float": 2.0**16}  # |x| up to which n is exact enough
# Without fused multiply-add: parts so short that n times a part is exact, up to a lower limit.
_PI_2_SHORT = {
    "double": (float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a6p-34"),
               float.fromhex("0x1.3198a2ep-69"), float.fromhex("0x1.b839a252049c1p-104")),
    "float": (float.fromhex("0x1.92p+0"), float.fromhex("0x1.fb4p-12"),
              float.fromhex("0x1.444p-24"), float.fromhex("0x1.68cp-39"),
              float.fromhex("0x1.1a6264p-54")),
}  # fmt: skip
_LIMIT_SHORT = {"double": 2.0**20, "float": 2.0**12}
_ROUND = {"double": 1.5 * 2.0**52, "float": 1.5 * 2.0**23}  # adding it rounds to an integer
_SIN = {
    "double": (-0.16666666666666666, 0.008333333333330925, -0.00019841269836722418,
               2.755731608381636e-06, -2.5051127944014188e-08, 1.5917848524808262e-10),
    "float": (-0.16666666663832763, 0.008333331865959415, -0.00019840082012765537,
              2.7249314054698804e-06),
}  # fmt: skip
_COS = {
    "double": (0.041666666666666664, -0.0013888888888887382, 2.480158729874307e-05,
               -2.7557317260008837e-07, 2.0876143827993133e-09, -1.1382456778061306e-11),
    "float": (0.0416666666643024, -0.0013888887664713619, 2.4800596435621998e-05,
              -2.7300448619488353e-07),
}  # fmt: skip
_ATAN = {
    "double": (-0.3333333333333333, 0.19999999999999488, -0.14285714285599077,
               0.11111111100908481, -0.09090908619958599, 0.07692294703783215,
               -0.06666435544054339, 0.05879577099850955, -0.052400906730142124,
               0.04627986182167095, -0.03806546461984985, 0.025004799941753298,
               -0.009214609657484286),
    "float": (-0.3333333290124988, 0.1999987519439588, -0.142797990528993, 0.11006854765323744,
              -0.08235373399834732, 0.04225451941835341),
}  # fmt: skip
# The first 1,280 bits of 2/π behind the point.
_TWO_OVER_PI = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d"
)


def splat(T: str, value: float) -> str:
    """A vector constant; `splat` of one number of type T."""
    return f"splat ({T} {_number(T, value)})"


def _number(T: str, value: float) -> str:
    if T == "float":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Text:
    """Lines of a function; every call names one value."""

    def __init__(self, T: str, W: int, fused: bool):
        self.T, self.W, self.V, self.fused = T, W, f"<{W} x {T}>", fused
        self.bits = 64 if T == "double" else 32
        self.I, self.M = f"<{W} x i{self.bits}>", f"<{W} x i1>"
        self.suffix = f"v{W}f{self.bits}"
        self.lines: list[str] = []
        self.count = 0

    def __call__(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def c(self, value: float) -> str:
        return splat(self.T, value)

    def i(self, value: int) -> str:
        return f"splat (i{self.bits} {value})"

    def two(self, op: str, a: str, b: str) -> str:
        return self(f"{op} {self.V} {a}, {b}")

    def bit(self, op: str, a: str, b: str) -> str:
        return self(f"{op} {self.I} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        V = self.V
        if not self.fused:
            return self.two("fadd", self.two("fmul", a, b), c)
        return self(f"call {V} @llvm.fma.{self.suffix}({V} {a}, {V} {b}, {V} {c})")

    def fabs(self, a: str) -> str:
        return self(f"call {self.V} @llvm.fabs.{self.suffix}({self.V} {a})")

    def select(self, m: str, a: str, b: str) -> str:
        return self(f"select {self.M} {m}, {self.V} {a}, {self.V} {b}")

    def as_bits(self, a: str) -> str:
        return self(f"bitcast {self.V} {a} to {self.I}")

    def as_number(self, a: str) -> str:
        return self(f"bitcast {self.I} {a} to {self.V}")

    def polynomial(self, z: str, coefficients: Sequence[float]) -> str:
        p = self.c(coefficients[-1])
        for a in reversed(coefficients[:-1]):
            p = self.fma(p, z, self.c(a))
        return p


def sincos(T: str, W: int, fused: bool = True) -> str:
    """{sin, cos} @sincos(x).  fused: the machine has fused multiply-add."""
    f = Text(T, W, fused)
    V, I, M, bits = f.V, f.I, f.M, f.bits
    head = [
        _reduce(fused),
        f"define {{ {V}, {V} }} @sincos({V} %x) {{",
        "start:",
    ]
    # x = n π/2 + r; the integer n sits in the low bits of t
    t = f.fma("%x", f.c(1.0 / _PI_2["double"][0]), f.c(_ROUND[T]))
    n = f.two("fsub", t, f.c(_ROUND[T]))
    minus_n = f(f"fneg {V} {n}")
    r = "%x"
    for part in (_PI_2 if fused else _PI_2_SHORT)[T]:
        r = f.fma(minus_n, f.c(part), r)
    q = f.as_bits(t)
    limit = (_LIMIT if fused else _LIMIT_SHORT)[T]
    huge = f(f"fcmp ogt {V} {f.fabs('%x')}, {f.c(limit)}")
    some = f(f"call i1 @llvm.vector.reduce.or.v{W}i1({M} {huge})")
    f.lines += [f"  br i1 {some}, label %slow, label %go, !prof !0", "slow:"]
    slow = _slow_lanes(f, huge, r, q)
    f.lines += [
        "go:",
        f"  %r = phi {V} [{r}, %start], [{slow[0]}, %back]",
        f"  %q = phi {I} [{q}, %start], [{slow[1]}, %back]",
    ]
    z = f.two("fmul", "%r", "%r")
    rz = f.two("fmul", "%r", z)
    s = f.fma(rz, f.polynomial(z, _SIN[T]), "%r")
    zero = f(f"fcmp oeq {V} %x, {f.c(0.0)}")
    s = f.select(zero, "%x", s)  # sin(−0) is −0
    c = f.fma(f.two("fmul", z, z), f.polynomial(z, _COS[T]), f.fma(z, f.c(-0.5), f.c(1.0)))
    odd = f(f"icmp ne {I} {f.bit('and', '%q', f.i(1))}, zeroinitializer")
    top = f.i(-(1 << (bits - 1)))
    results: list[str] = []
    for a, b, quarter in ((c, s, "%q"), (s, c, f.bit("add", "%q", f.i(1)))):
        value = f.as_bits(f.select(odd, a, b))
        sign = f.bit("and", f.bit("shl", quarter, f.i(bits - 2)), top)
        results.append(f.as_number(f.bit("xor", value, sign)))
    pair = f(f"insertvalue {{ {V}, {V} }} poison, {V} {results[0]}, 0")
    pair = f(f"insertvalue {{ {V}, {V} }} {pair}, {V} {results[1]}, 1")
    f.lines += [f"  ret {{ {V}, {V} }} {pair}", "}", '!0 = !{!"branch_weights", i32 1, i32 100000}']
    return "\n".join(head + f.lines)


def _slow_lanes(f: Text, huge: str, r: str, q: str) -> tuple[str, str]:
    """Reduce the lanes that are huge with @reduce; ends in the block %back."""
    T, W, V, I = f.T, f.W, f.V, f.I
    size = W * f.bits // 8
    f.lines += [
        f"  %xs = alloca {V}, align {size}",
        f"  %rs = alloca {V}, align {size}",
        f"  %qs = alloca {I}, align {size}",
        f"  store {V} %x, ptr %xs, align {size}",
        f"  store {V} {r}, ptr %rs, align {size}",
        f"  store {I} {q}, ptr %qs, align {size}",
        f"  %mask = bitcast {f.M} {huge} to i{W}",
        "  br label %lane",
        "lane:",
        "  %k = phi i64 [0, %slow], [%k1, %after]",
        f"  %kw = trunc i64 %k to i{W}",
        f"  %shifted = lshr i{W} %mask, %kw",
        f"  %this = trunc i{W} %shifted to i1",
        "  br i1 %this, label %one, label %after",
        "one:",
        f"  %xp = getelementptr {T}, ptr %xs, i64 %k",
        f"  %xk = load {T}, ptr %xp",
        "  %xd = fadd double %xk, 0.0" if T == "double" else "  %xd = fpext float %xk to double",
        "  %pair = call { double, i64 } @reduce(double %xd)",
        "  %rd = extractvalue { double, i64 } %pair, 0",
        "  %qd = extractvalue { double, i64 } %pair, 1",
        f"  %rp = getelementptr {T}, ptr %rs, i64 %k",
        f"  %qp = getelementptr i{f.bits}, ptr %qs, i64 %k",
    ]
    if T == "double":
        f.lines += ["  store double %rd, ptr %rp", "  store i64 %qd, ptr %qp"]
    else:
        f.lines += [
            "  %rf = fptrunc double %rd to float",
            "  %qf = trunc i64 %qd to i32",
            "  store float %rf, ptr %rp",
            "  store i32 %qf, ptr %qp",
        ]
    f.lines += [
        "  br label %after",
        "after:",
        "  %k1 = add i64 %k, 1",
        f"  %more = icmp slt i64 %k1, {W}",
        "  br i1 %more, label %lane, label %back",
        "back:",
        f"  %r.slow = load {V}, ptr %rs, align {size}",
        f"  %q.slow = load {I}, ptr %qs, align {size}",
        "  br label %go",
    ]
    return "%r.slow", "%q.slow"


def _reduce(fused: bool) -> str:
    """{r, n mod 4} @reduce(x) for |x| ≥ 2¹² (Payne and Hanek).

    x = ± m 2ᵉ with an integer m of 53 bits. Bits of 2/π with a weight of 2²⁻ᵉ and more only add
    multiples of 4 to x 2/π: m times the 192 bits behind them, modulo 2¹⁹², is n mod 4 in the two
    highest bits, then the fraction.
    """
    words = ["0" * 16] + [_TWO_OVER_PI[k : k + 16] for k in range(0, len(_TWO_OVER_PI), 16)]
    table = ", ".join(f"i64 u0x{word}" for word in words)
    high, low = (_number("double", x) for x in _PI_2["double"][:2])
    nan = "0x7FF8000000000000"
    product = (
        f"""  %s2 = call double @llvm.fma.f64(double %hi, double {low}, double %s1)
  %s3 = call double @llvm.fma.f64(double %hi, double {high}, double %s2)"""
        if fused
        else f"""  %m2 = fmul double %hi, {low}
  %m3 = fmul double %hi, {high}
  %s2 = fadd double %m2, %s1
  %s3 = fadd double %m3, %s2"""
    )
    return f"""@two_over_pi = private constant [{len(words)} x i64] [{table}]
define internal {{ double, i64 }} @reduce(double %x) noinline cold {{
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %exponent = and i64 %shifted, 2047
  %finite = icmp ne i64 %exponent, 2047
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %e = sub i64 %exponent, 1075
  %first = add i64 %e, 62
  %word = lshr i64 %first, 6
  %bit = and i64 %first, 63
  %p0 = getelementptr i64, ptr @two_over_pi, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %a0 = load i64, ptr %p0
  %a1 = load i64, ptr %p1
  %a2 = load i64, ptr %p2
  %a3 = load i64, ptr %p3
  %w0 = call i64 @llvm.fshl.i64(i64 %a0, i64 %a1, i64 %bit)
  %w1 = call i64 @llvm.fshl.i64(i64 %a1, i64 %a2, i64 %bit)
  %w2 = call i64 @llvm.fshl.i64(i64 %a2, i64 %a3, i64 %bit)
  %M = zext i64 %m to i128
  %W1 = zext i64 %w1 to i128
  %W2 = zext i64 %w2 to i128
  %h0 = mul i64 %m, %w0
  %H0 = zext i64 %h0 to i128
  %H = shl i128 %H0, 64
  %mid = mul i128 %M, %W1
  %low = mul i128 %M, %W2
  %carry = lshr i128 %low, 64
  %sum = add i128 %H, %mid
  %p = add i128 %sum, %carry
  %half = add i128 %p, 42535295865117307932921825928971026432
  %n128 = lshr i128 %half, 126
  %n = trunc i128 %n128 to i64
  %f = shl i128 %p, 2
  %size = call i128 @llvm.abs.i128(i128 %f, i1 false)
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 true)
  %norm = shl i128 %size, %zeros
  %hi128 = lshr i128 %norm, 75
  %hi64 = trunc i128 %hi128 to i64
  %lo128 = lshr i128 %norm, 22
  %lo64 = trunc i128 %lo128 to i64
  %lo53 = and i64 %lo64, 9007199254740991
  %hi = sitofp i64 %hi64 to double
  %lo = sitofp i64 %lo53 to double
  %lo1 = fmul double %lo, 0x3CA0000000000000
  %z = trunc i128 %zeros to i64
  %scale.exponent = sub i64 970, %z
  %scale.bits = shl i64 %scale.exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %s1 = fmul double %lo1, {high}
{product}
  %r.size = fmul double %s3, %scale
  %minus = fneg double %r.size
  %f.negative = icmp slt i128 %f, 0
  %r.up = select i1 %f.negative, double %minus, double %r.size
  %x.negative = icmp slt i64 %bits, 0
  %r.down = fneg double %r.up
  %r = select i1 %x.negative, double %r.down, double %r.up
  %n.down = sub i64 0, %n
  %q = select i1 %x.negative, i64 %n.down, i64 %n
  %safe = select i1 %finite, double %r, double {nan}
  %t0 = insertvalue {{ double, i64 }} poison, double %safe, 0
  %t1 = insertvalue {{ double, i64 }} %t0, i64 %q, 1
  ret {{ double, i64 }} %t1
}}"""


def atan2(T: str, W: int, fused: bool = True) -> str:
    """angle @atan2(y, x)."""
    f = Text(T, W, fused)
    V, I, M, bits = f.V, f.I, f.M, f.bits
    huge, tiny = (2.0**1000, 2.0**-900) if T == "double" else (2.0**120, 2.0**-90)
    inf = f.c(float("inf"))
    compare: Callable[[str, str, str], str] = lambda how, a, b: f(f"fcmp {how} {V} {a}, {b}")
    ax, ay = f.fabs("%x"), f.fabs("%y")
    steep = compare("ogt", ay, ax)
    small, large = f.select(steep, ax, ay), f.select(steep, ay, ax)
    # two infinities are as good as two ones; 0/0 is 0; sums do not overflow, nor products underflow
    endless = compare("oeq", large, inf)
    both = compare("oeq", small, inf)
    small = f.select(endless, f.select(both, f.c(1.0), f.c(0.0)), small)
    large = f.select(endless, f.c(1.0), large)
    scale = f.select(compare("ogt", large, f.c(huge)), f.c(0.25), f.c(1.0))
    scale = f.select(compare("olt", large, f.c(tiny)), f.c(2.0**60), scale)
    small, large = f.two("fmul", small, scale), f.two("fmul", large, scale)
    large = f.select(compare("oeq", large, f.c(0.0)), f.c(1.0), large)
    # u = tan of the angle, or of the angle less π/4
    turned = compare("ogt", small, f.two("fmul", large, f.c(0.5)))
    top = f.select(turned, f.two("fsub", small, large), small)
    bottom = f.select(turned, f.two("fadd", small, large), large)
    u = f.two("fdiv", top, bottom)
    z = f.two("fmul", u, u)
    a = f.fma(f.two("fmul", u, z), f.polynomial(z, _ATAN[T]), u)
    # the octant: angle = k π/4 ± a
    sign_x = f.bit("and", f.as_bits("%x"), f.i(-(1 << (bits - 1))))
    sign_y = f.bit("and", f.as_bits("%y"), f.i(-(1 << (bits - 1))))
    left = f(f"icmp ne {I} {sign_x}, zeroinitializer")
    high, low = _PI_2[T][:2]
    parts: list[str] = []
    for part in (high, low):
        k1 = f.select(turned, f.c(part / 2), f.c(0.0))
        k2 = f.select(steep, f.two("fsub", f.c(part), k1), k1)
        parts.append(f.select(left, f.two("fsub", f.c(2 * part), k2), k2))
    flip = f(f"xor {M} {steep}, {left}")
    minus = f(f"fneg {V} {a}")
    a = f.select(flip, minus, a)
    angle = f.two("fadd", f.two("fadd", a, parts[1]), parts[0])
    # K = 0 adds nothing; the sign is that of y
    angle = f.bit("or", f.as_bits(f.fabs(angle)), sign_y)
    angle = f.as_number(angle)
    bad = f(f"fcmp uno {V} %x, %y")
    result = f.select(bad, f.c(float("nan")), angle)
    return "\n".join(
        [
            f"define {V} @atan2({V} %y, {V} %x) {{",
            *f.lines,
            f"  ret {V} {result}",
            "}",
        ]
    )
