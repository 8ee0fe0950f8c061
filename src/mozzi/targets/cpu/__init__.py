"""The CPU target: a program becomes a NumPy generalised ufunc of vector machine code.

Read it in the order in which it works: `build` (schedule, compile, keep) → `ir` (the program as
LLVM IR, W samples at a time), with `outline` (long runs as functions), `zeroing` (what must be
cleared), `results` (each value once) and `math` (vector sine, cosine, arctangent) → `batch_loop`,
`pack` and `unpack` (the loop around it, between NumPy's arrays and a structure of arrays) →
`assembler` (machine code, on several threads) → `jit` (its addresses) → `ufunc` (what NumPy calls)
→ `kernel` (what users call), with `single_call` (one evaluation or a few, quickly), `function_call`
(the same for public functions), `table_call` (with dicts of arrays), `memory` (of large results)
and `threads`.
"""

from mozzi.targets.cpu.build import build as build
