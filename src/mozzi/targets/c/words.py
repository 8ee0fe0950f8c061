"""The words of C: how it spells operations and numbers, and which names it keeps for itself."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["ATOM", "BINDS", "RESERVED", "SPELL_C", "TYPES", "number"]

# How C spells an operation; {f} is the suffix of float functions.
SPELL_C: dict[str, str] = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "sqrt": "sqrt{f}({})", "sin": "sin{f}({})", "cos": "cos{f}({})", "atan2": "atan2{f}({}, {})",
    "exp": "exp{f}({})", "log": "log{f}({})", "tanh": "tanh{f}({})",
    "lt": "{} < {}", "le": "{} <= {}", "select": "{} ? {} : {}",
    "min": "{0} <= {1} ? {0} : {1}", "max": "{0} >= {1} ? {0} : {1}",
}  # fmt: skip

# How tightly an operation binds, and how tightly its operands must; names and calls bind at 9.
BINDS: dict[str, tuple[int, tuple[int, ...]]] = {
    "neg": (8, (9,)), "mul": (7, (7, 8)), "div": (7, (7, 8)),
    "add": (6, (6, 7)), "sub": (6, (6, 7)), "lt": (5, (6, 6)), "le": (5, (6, 6)),
    "select": (3, (5, 5, 5)), "min": (3, (9, 9)), "max": (3, (9, 9)),
}  # fmt: skip
ATOM = 9

# Words of C and C++ (where the header is read too), of the functions used, and macros.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
        concept const const_cast constexpr continue decltype default delete do double dynamic_cast
        else enum explicit export extern false float for friend goto if inline int long mutable
        namespace new noexcept not not_eq nullptr operator or or_eq private protected public
        register reinterpret_cast restrict return short signed sizeof static static_assert
        static_cast struct switch template this thread_local throw true try typedef typeid
        typename union unsigned using virtual void volatile wchar_t while xor xor_eq
        sqrt sin cos atan2 exp log tanh sqrtf sinf cosf atan2f expf logf tanhf fabs fmax printf
        main linux unix
        INFINITY NAN HUGE_VAL M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI
        M_2_SQRTPI M_SQRT2 M_SQRT1_2
        """,
    )
)

TYPES = {"float64": "double", "float32": "float"}


def number(x: float, type_: str) -> str:
    """A literal of this type; infinite where the number is too large for it."""
    with np.errstate(over="ignore"):
        value, suffix = (np.float32(x), "f") if type_ == "float" else (np.float64(x), "")
    if np.isinf(value):
        infinity = "INFINITY" if suffix else "HUGE_VAL"
        return infinity if value > 0 else f"-{infinity}"
    return f"{value!s}{suffix}"
