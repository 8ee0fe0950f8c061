"""Modules become object code on several threads: the same code, errors that are told, no threads
that stay.
"""

import gc
import importlib
import threading
import time

import numpy as np
import pytest
from targets.kernels import arguments, random_program

import mozzi as mz
from mozzi.locks import Aside
from mozzi.model import generate
from mozzi.targets.cpu import jit, outline
from mozzi.targets.cpu.assembler import SEPARATOR, Assembler, objects_of, packed

build = importlib.import_module("mozzi.targets.cpu.build")  # the name is the function's, too
ONE = "define double @f(double %x) {\n  %y = fmul double %x, %x\n  ret double %y\n}\n"


@pytest.fixture
def threads():
    yield mz.set_num_threads
    mz.set_num_threads(None)


def alive():
    return [x for x in threading.enumerate() if x.name == "mozzi-aside"]


def end_of_threads():
    end = time.monotonic() + 20.0
    while alive() and time.monotonic() < end:
        time.sleep(0.01)
    return not alive()


def test_objects_are_packed_one_after_the_other():
    objects = [b"", b"one", bytes(range(256)) * 3]
    assert list(objects_of(packed(objects))) == objects


def test_the_code_does_not_depend_on_the_number_of_threads(threads, monkeypatch):
    """Nor do the numbers: pieces in modules of their own give what one function gives."""
    monkeypatch.setattr(outline, "OUTLINED_STATEMENTS", 30)
    program = random_program(3, 400)
    text = build.module_text(build.ordered(program), "float64", jit.lanes("float64"))
    assert text.count(SEPARATOR) >= 1 and "@outlined1" in text
    codes = []
    for number in (1, 3):
        threads(number)
        codes.append(jit.assemble(text))
    assert codes[0] == codes[1] and len(list(objects_of(codes[0]))) == 1 + text.count(SEPARATOR)
    kernel, args = build.compile_cpu(program), arguments(program, (5,), "float64")
    again = build.compile_cpu(program, key="the modules of a test, as they are written")
    for x, y in zip(kernel(*args), again(*args), strict=True):
        assert np.array_equal(x, y)
    assert end_of_threads()


def test_a_module_that_is_none_is_an_error_here(threads):
    threads(2)
    with pytest.raises(RuntimeError, match="parsing"):
        jit.assemble("define nonsense")
    with pytest.raises(RuntimeError, match="parsing"):
        jit.assemble(SEPARATOR.join([ONE, "define nonsense", ONE.replace("@f", "@g")]))
    assert end_of_threads()


def test_an_assembler_that_is_abandoned_leaves_no_thread(threads):
    threads(2)
    assembler = Assembler()
    for k in range(50):
        assembler.add(ONE.replace("@f", f"@f{k}"))
    assembler.abandon()
    assert end_of_threads()


def test_a_program_that_cannot_be_written_leaves_no_thread(monkeypatch):
    monkeypatch.setattr(outline, "OUTLINED_STATEMENTS", 30)
    monkeypatch.setattr(build, "batch_loop", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build.compile_cpu(random_program(4, 400), key="a program that cannot be written")
    assert end_of_threads()


def test_work_that_is_begun_goes_on_beside():
    goes_on = threading.Event()
    work = Aside(lambda: goes_on.wait(20.0))
    goes_on.set()
    assert work.result()


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_is_as_it_was(on):
    """It rests while a program is traced, whether that succeeds or not."""
    seen = []

    def look(q):
        seen.append(gc.isenabled())
        if len(seen) > 1:
            raise ValueError("as it was")
        return q * 2.0

    model = generate.chain(2)
    (gc.enable if on else gc.disable)()
    try:
        mz.compile(look, model)
        with pytest.raises(ValueError, match="as it was"):
            mz.compile(look, model)
        assert seen == [False, False] and gc.isenabled() == on
    finally:
        gc.enable()
