"""Vector sin, cos and atan2 as LLVM IR text."""

from __future__ import annotations

__all__ = ["functions"]


def functions(T: str, W: int) -> str:
    """@vector_sin, @vector_cos, @vector_atan2 on vectors of W numbers."""
    V = f"<{W} x {T}>"
    f = "" if T == "double" else "f"
    code = [f"declare {T} @{name}{f}({T})" for name in ("sin", "cos")]
    code.append(f"declare {T} @atan2{f}({T}, {T})")
    for name, n in (("sin", 1), ("cos", 1), ("atan2", 2)):
        code.append(f"define internal {V} @vector_{name}({', '.join(f'{V} %a{i}' for i in range(n))}) noinline {{")
        v = "poison"
        for k in range(W):
            for i in range(n):
                code.append(f"  %x{i}.{k} = extractelement {V} %a{i}, i32 {k}")
            args = ", ".join(f"{T} %x{i}.{k}" for i in range(n))
            code.append(f"  %y{k} = call {T} @{name}{f}({args})")
            code.append(f"  %v{k} = insertelement {V} {v}, {T} %y{k}, i32 {k}")
            v = f"%v{k}"
        code += [f"  ret {V} {v}", "}"]
    return "\n".join(code)
