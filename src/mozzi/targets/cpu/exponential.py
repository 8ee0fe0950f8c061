"""Vector exp, log and tanh as LLVM IR text: at most 2 ulp, for every argument.

exp: x = n ln 2 + r with |r| ≤ ½ ln 2, ln 2 in two parts of which the first is so short that n times
it is exact; a polynomial; the power of two in two factors, so that results may be subnormal.

log: x = 2ᵏ m with m in [√½, √2); with f = m − 1 and s = f / (2 + f),
log m = f − f²/2 + s (f²/2 + R(s²)): what is large is exact, what is rounded is small (fdlibm).

tanh: a polynomial in x² below 0.55, else 1 − 2 / (exp 2|x| + 1).

The polynomials are Chebyshev fits (mpmath.chebyfit) of (exp r − 1 − r)/r², (log((1 + s)/(1 − s))/s
− 2)/s² in s² and (tanh x / x − 1)/x² in x².
"""

from __future__ import annotations

from mozzi.targets.cpu.vector_math import Text

__all__ = ["exp", "log", "tanh"]

_LN2 = {
    "double": (6.93147180369123816490e-01, 1.90821492927058770002e-10),
    "float": (6.9314575195e-01, 1.4286067653e-06),
}
_ROUND = {"double": 1.5 * 2.0**52, "float": 1.5 * 2.0**23}  # adding it rounds to an integer
_ENDS = {"double": (-746.0, 710.0), "float": (-104.0, 89.0)}  # beyond: zero, infinity
_EXP = {
    "double": (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136,
               0.0013888888888883748, 0.00019841269874820627, 2.4801587325547743e-05,
               2.7557255400206422e-06, 2.75572736431103e-07, 2.5105217004720745e-08,
               2.0914686968086876e-09),
    "float": (0.5, 0.16666576989698775, 0.041666554617204574, 0.008363179052722578,
              0.0013926183587713494),
}  # fmt: skip
_LOG = {
    "double": (0.666666666666667, 0.39999999999899505, 0.28571428625975487, 0.2222221113479508,
               0.18182889125261723, 0.15331721600556042, 0.14616449685043406),
    "float": (0.6666668503957586, 0.3998878056602198, 0.2957994939197279),
}  # fmt: skip
_TANH = {
    "double": (-0.3333333333333333, 0.1333333333333331, -0.05396825396822037,
               0.021869488534073906, -0.0088632354631468, 0.0035921267699626346,
               -0.001455819097151351, 0.0005899052969492733, -0.0002384727248015252,
               9.455133052924858e-05, -3.372080112046316e-05, 7.874274345344419e-06),
    "float": (-0.3333333329502591, 0.13333324200007313, -0.0539647004451583,
              0.021818449128639904, -0.00852633305780133, 0.0025263907105745136),
}  # fmt: skip
_DIGITS = {"double": 52, "float": 23}  # of a mantissa
_BIAS = {"double": 1023, "float": 127}


def exp(T: str, W: int, fused: bool = True) -> str:
    """exponential @exp(x)."""
    f = Text(T, W, fused)
    low, high = _ENDS[T]
    x = f.select(f(f"fcmp olt {f.V} %x, {f.c(low)}"), f.c(low), "%x")
    x = f.select(f(f"fcmp ogt {f.V} {x}, {f.c(high)}"), f.c(high), x)
    t = f.fma(x, f.c(1.4426950408889634), f.c(_ROUND[T]))
    n = f.two("fsub", t, f.c(_ROUND[T]))
    r = x
    for part in _LN2[T]:
        r = f.fma(n, f.c(-part), r)
    y = f.fma(f.two("fmul", r, r), f.polynomial(r, _EXP[T]), r)
    y = f.two("fadd", y, f.c(1.0))
    # the integer n is t less what was added, as integers
    whole = f.bit("sub", f.as_bits(t), f.as_bits(f.two("fadd", f.c(_ROUND[T]), f.c(0.0))))
    half = f.bit("ashr", whole, f.i(1))
    for k in (half, f.bit("sub", whole, half)):
        power = f.bit("shl", f.bit("add", k, f.i(_BIAS[T])), f.i(_DIGITS[T]))
        y = f.two("fmul", y, f.as_number(power))
    bad = f(f"fcmp uno {f.V} %x, %x")
    return _function(f, "exp", f.select(bad, "%x", y))


def log(T: str, W: int, fused: bool = True) -> str:
    """natural logarithm @log(x)."""
    f = Text(T, W, fused)
    V, digits, bias = f.V, _DIGITS[T], _BIAS[T]
    small = f(f"fcmp olt {V} %x, {f.c(2.0 ** (1 - bias))}")
    x = f.select(small, f.two("fmul", "%x", f.c(2.0 ** (digits + 2))), "%x")  # not subnormal
    # m in [√½, √2): the bits of √½ come off before the exponent is read
    root = {"double": 0x3FE6A09E667F3BCD, "float": 0x3F3504F3}[T]
    shifted = f.bit("sub", f.as_bits(x), f.i(root))
    k = f.bit("ashr", shifted, f.i(digits))
    mantissa = f.bit("add", f.bit("and", shifted, f.i((1 << digits) - 1)), f.i(root))
    m = f.as_number(mantissa)
    k = f(f"trunc {f.I} {k} to <{W} x i32>") if T == "double" else k
    k = f(f"sitofp <{W} x i32> {k} to {V}")
    k = f.select(small, f.two("fsub", k, f.c(float(digits + 2))), k)
    u = f.two("fsub", m, f.c(1.0))
    s = f.two("fdiv", u, f.two("fadd", u, f.c(2.0)))
    z = f.two("fmul", s, s)
    half = f.two("fmul", f.c(0.5), f.two("fmul", u, u))
    R = f.two("fmul", z, f.polynomial(z, _LOG[T]))
    high, low = _LN2[T]
    rest = f.fma(s, f.two("fadd", half, R), f.two("fmul", k, f.c(low)))
    y = f.two("fsub", u, f.two("fsub", half, rest))
    y = f.two("fadd", f.two("fmul", k, f.c(high)), y)
    inf = f.c(float("inf"))
    y = f.select(f(f"fcmp oeq {V} %x, {inf}"), inf, y)
    y = f.select(f(f"fcmp oeq {V} %x, {f.c(0.0)}"), f.c(float("-inf")), y)
    bad = f(f"fcmp ult {V} %x, {f.c(0.0)}")
    return _function(f, "log", f.select(bad, f.c(float("nan")), y))


def tanh(T: str, W: int, fused: bool = True) -> str:
    """hyperbolic tangent @tanh(x); calls @exp."""
    f = Text(T, W, fused)
    V = f.V
    a = f.fabs("%x")
    z = f.two("fmul", a, a)
    near = f.fma(f.two("fmul", a, z), f.polynomial(z, _TANH[T]), a)
    a = f.select(f(f"fcmp ogt {V} {a}, {f.c(20.0)}"), f.c(20.0), a)
    e = f(f"call {V} @exp({V} {f.two('fadd', a, a)})")
    far = f.two("fsub", f.c(1.0), f.two("fdiv", f.c(2.0), f.two("fadd", e, f.c(1.0))))
    y = f.select(f(f"fcmp olt {V} {a}, {f.c(0.55)}"), near, far)
    sign = f.bit("and", f.as_bits("%x"), f.i(-(1 << (f.bits - 1))))
    y = f.as_number(f.bit("or", f.as_bits(y), sign))
    bad = f(f"fcmp uno {V} %x, %x")
    return _function(f, "tanh", f.select(bad, "%x", y))


def _function(f: Text, name: str, result: str) -> str:
    return "\n".join([f"define {f.V} @{name}({f.V} %x) {{", *f.lines, f"  ret {f.V} {result}", "}"])
