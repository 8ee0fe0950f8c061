"""Arguments of a wrong kind are refused at the door, by the words of the signature.

`checked` reads the annotations of a function. What one of them says in a word of `KINDS`, such as
``bool``, ``int | None`` or ``ArrayLike``, or by a class of its module, is looked at before the
function runs; other words are left to the function. The error names the function, the argument,
what was given and what to give. It costs a fraction of a microsecond of a call.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial, wraps
from types import UnionType
from typing import TypeAlias, TypeVar, Union, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import KindError

__all__ = [
    "Kind", "are_names", "checked", "is_array", "is_iterable", "is_listed", "is_table", "is_whole",
    "kinds_in", "kinds_of", "refuse_others",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., object])
Kind: TypeAlias = tuple[Callable[[object], bool], str]


def is_number(x: object) -> bool:
    """A real number; NaN is none. What a law hands over while it is traced passes."""
    if isinstance(x, (bool, str, bytes, type)) or x is None:
        return False
    if isinstance(x, (int, float)):
        return x == x
    if isinstance(x, (np.ndarray, np.generic)):
        number = np.asarray(cast(object, x))
        return number.ndim == 0 and number.dtype.kind in "iuf" and bool(number == number)
    return hasattr(x, "__float__") or (is_arithmetic(x) and not isinstance(x, complex))


def is_whole(x: object) -> bool:
    return not isinstance(x, (bool, np.ndarray, type)) and hasattr(x, "__index__")


def is_array(x: object) -> bool:
    """Real numbers, or what stands for them, alone, in an array or in nested lists."""
    if isinstance(x, np.ndarray):
        array = cast("NDArray[np.generic]", x)
    else:
        if isinstance(x, (float, int)) or hasattr(x, "dtype") or hasattr(x, "__array__"):
            return True
        if isinstance(x, (str, bytes, Mapping, type)) or x is None:
            return False
        try:
            array = np.asarray(x)
        except (TypeError, ValueError):
            return False
    if array.dtype.kind == "O":
        return all(is_arithmetic(e) for e in cast("Iterable[object]", array.flat))
    return array.dtype.kind in "biuf"


def is_arithmetic(x: object) -> bool:
    """What can be added and multiplied: numbers of any kind, arrays of them, traced scalars."""
    return hasattr(x, "__radd__") and hasattr(x, "__mul__") and not isinstance(x, type)


def is_iterable(x: object) -> bool:
    return isinstance(x, Iterable) and not isinstance(x, (str, bytes, Mapping))


def is_listed(x: object) -> bool:
    """What can be looked at twice: a generator has nothing left after the first time."""
    return is_iterable(x) and not isinstance(x, Iterator)


def is_table(x: object) -> bool:
    """A mapping, a data frame, or an array whose columns have names."""
    return hasattr(x, "items") or bool(getattr(getattr(x, "dtype", None), "names", None))


def are_names(x: object) -> bool:
    return is_listed(x) and all(isinstance(e, str) for e in cast("Iterable[object]", x))


def is_function(x: object) -> bool:
    return callable(x) and not isinstance(x, type)


def is_path(x: object) -> bool:
    return isinstance(x, (str, os.PathLike))


def is_seed(x: object) -> bool:
    return isinstance(x, np.random.Generator) or (is_whole(x) and int(cast(int, x)) >= 0)


def are_joints(x: object) -> bool:
    if isinstance(x, str) or not is_listed(x) or isinstance(x, np.ndarray):
        return isinstance(x, str)
    return all(isinstance(e, (str, tuple, list)) for e in cast("Iterable[object]", x))


# What an annotation says → (whether a thing is of the kind, what to give)
KINDS: dict[str, Kind] = {
    "None": (lambda x: x is None, "None"),
    "NoneType": (lambda x: x is None, "None"),
    "bool": (lambda x: isinstance(x, (bool, np.bool_)), "True or False"),
    "int": (is_whole, "a whole number"),
    "float": (is_number, "a number"),
    "str": (lambda x: isinstance(x, str), "a word"),
    "StrPath": (is_path, "a path"),
    "PathLike": (is_path, "a path"),
    "os.PathLike": (is_path, "a path"),
    "Real": (is_arithmetic, "a number"),
    "ArrayLike": (is_array, "an array of real numbers"),
    "Array": (is_array, "an array of real numbers"),
    "VectorLike": (is_array, "three numbers"),
    "Seed": (lambda x: x is None or is_seed(x), "a whole number from 0, or a NumPy generator"),
    "JointChoice": (are_joints, "names of joints, or pairs (name, number of a coordinate)"),
    "Mapping": (is_table, "a dict"),
    "Sequence": (is_listed, "a list"),
    "Collection": (is_listed, "a list"),
    "Iterable": (is_iterable, "a list"),
    "tuple": (is_listed, "a tuple"),
    "Axis": (lambda x: isinstance(x, str) or is_array(x), "'x', 'y' or 'z', or three numbers"),
    "Sequence[str]": (are_names, "a list of names"),
    "Collection[str]": (are_names, "a list of names"),
    "Callable": (is_function, "a function"),
    "DType": (lambda x: isinstance(x, (str, type, np.dtype)), "'float64' or 'float32'"),
    "Literal": (lambda x: isinstance(x, str), "a word"),
}
# What functions look at themselves.
OTHERS = ("Model", "Joint", "Geometry", "Iterable[float]", "object", "Any")


def alternatives(annotation: str) -> list[str]:
    """``a | b[c | d]`` is a, or b[c | d]."""
    parts, depth = [""], 0
    for x in annotation:
        depth += (x in "[(") - (x in "])")
        if x == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += x
    return [part.strip() for part in parts]


def kinds_of(annotation: object, names: Mapping[str, object]) -> list[Kind]:
    """The kinds of which one must fit; none where a word is not known."""
    if not isinstance(annotation, str):
        head: object = get_origin(annotation)
        if head is Union or head is UnionType:
            parts = [kinds_of(x, names) for x in get_args(annotation)]
            return [kind for part in parts for kind in part] if all(parts) else []
        if isinstance(annotation, type) and annotation.__name__ not in (*KINDS, *OTHERS):
            return [_made_by(annotation)]
        own = getattr(head or annotation, "__name__", str(head))
        return [KINDS[own]] if own in KINDS else []
    found: list[Kind] = []
    for word in alternatives(annotation):
        if word in OTHERS:
            return []
        head = re.sub(r"\[.*", "", word, flags=re.DOTALL)
        if word in KINDS or head in KINDS:
            found.append(KINDS.get(word) or KINDS[head])
            continue
        known = names.get(head)  # a class or another name for kinds
        inner = kinds_of(known, names) if known is not None else []
        if not inner:
            return []
        found += inner
    return found


def _made_by(owner: type) -> Kind:
    """What a class has made; of a protocol, what has its members."""
    words = f"{'an' if owner.__name__[0] in 'AEIO' else 'a'} {owner.__name__}"
    if not getattr(owner, "_is_protocol", False):
        return (lambda x: isinstance(x, owner)), words
    members = {*inspect.get_annotations(owner), *(k for k in vars(owner) if k[0] != "_")}
    return (lambda x: all(hasattr(x, k) for k in members)), words


def checked(function: F) -> F:
    """The function, which refuses arguments of another kind than its annotations say.

    Of a class it is the making of one.
    """
    if isinstance(function, type):
        made = _checked(function.__init__, function.__name__, function)
        setattr(function, "__init__", made)  # noqa: B010
        return cast(F, function)
    return cast(F, _checked(function, function.__name__, function))


def _checked(
    function: Callable[..., object], name: str, told: Callable[..., object]
) -> Callable[..., object]:
    parameters = inspect.signature(function).parameters.values()
    order = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    made = name == "__init__"  # of the class that is made, which may have it from another
    kinds = cache(partial(kinds_in, function))  # at the first call: by then all modules are there
    tests = cache(lambda: _tests(order, kinds()))

    @wraps(function)
    def door(*args: object, **kwargs: object) -> object:
        given = len(args)
        for k, fits in tests():
            if k >= given:
                break
            if not fits(args[k]):
                title = type(args[0]).__name__ if made else name
                refuse_others(title, kinds(), zip(order, args), told)
        if not kwargs:
            return function(*args)
        title = type(args[0]).__name__ if made else name
        refuse_others(title, kinds(), kwargs.items(), told)
        return function(*args, **kwargs)

    return door


def _tests(
    order: Iterable[str], kinds: Mapping[str, list[Kind]]
) -> list[tuple[int, Callable[[object], bool]]]:
    """Whether things are of kinds that they may be of, for arguments of which that is known: (its
    place, a test).
    """
    found = [(k, [test for test, _ in kinds.get(name, ())]) for k, name in enumerate(order)]
    return [(k, _any_of(tests)) for k, tests in found if tests]


def _any_of(tests: list[Callable[[object], bool]]) -> Callable[[object], bool]:
    if len(tests) == 1:
        return tests[0]

    def fits(x: object) -> bool:
        for test in tests:  # noqa: SIM110 - a call waits for this
            if test(x):
                return True
        return False

    return fits


def kinds_in(function: Callable[..., object]) -> dict[str, list[Kind]]:
    """The kinds of arguments that a function tells in its annotations, by name."""
    names: dict[str, object] = getattr(inspect.unwrap(function), "__globals__", {})
    found = {
        p.name: kinds_of(str(p.annotation), names)
        for p in inspect.signature(function).parameters.values()
        if p.kind is not p.VAR_KEYWORD
    }
    return {argument: kind for argument, kind in found.items() if kind}


def refuse_others(
    name: str, kinds: Mapping[str, list[Kind]], given: Iterable[tuple[str, object]],
    function: Callable[..., object],
) -> None:  # fmt: skip
    """Raise an error for the first argument that is of no kind it may be of; what to give is said
    by its annotation, and by the docstring of the function.
    """
    for argument, x in given:
        kind = kinds.get(argument)
        if kind is None:
            continue
        for test, _ in kind:  # not any(...): a call waits for this
            if test(x):
                break
        else:
            wanted = [*dict.fromkeys(words for _, words in kind)]
            said = " or ".join([", ".join(wanted[:-1]), wanted[-1]] if wanted[1:] else wanted)
            raise KindError(name, argument, x, said + meaning(function, argument))


def meaning(function: Callable[..., object], argument: str) -> str:
    """What the docstring says of an argument, to be put behind a kind."""
    text = inspect.getdoc(function) or ""
    row = re.search(rf"^( *){argument}\b([^:\n]*): (.+(?:\n\1 +.+)*)", text, re.MULTILINE)
    if row is None:
        return ""
    said = re.split(r"\.(?= )", " ".join(row[3].split()))[0]
    return f" ({argument}{row[2]}: {said.rstrip('.;,')})"
