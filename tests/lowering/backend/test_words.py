"""The subset of Python that the driver is written in: compiled, it computes what Python computes."""

import ctypes
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from xdsl_rlx.lowering.backend.driver.words import llvm_text
from xdsl_rlx.lowering.backend.machine.llvm import compile_llvm, load_object, processor

SOURCE = '''
"""Every construct of the subset."""
LIMIT = 7

class Row:
    WIDTH = 3

def helper(a, b):
    """Two ways out."""
    if a > b:
        return a - b
    return b - a

def loops(n, m):
    total = 0
    for i in range(n):
        if i == 3:
            continue
        for j in range(i, m):
            if j > LIMIT:
                break
            total += i * j * Row.WIDTH
    while total > 100 and n != 0 or m == -1 and total > 50:
        total -= helper(n, m) + 1
    return total

def bits(n, m):
    x = (n << 5) | (m & 255)
    x = x + (n >> 2)
    return min(x, m) if not n < m < 9 else max(x, 1000) * (n <= m) - (n >= m)

def choose(n, m):
    # the second operand must not run: it would divide the pool's memory by nothing
    ok = n == 0 or forever(n)
    both = n != 0 and m != 0
    return ok + 2 * both

def forever(n):
    while True:
        n += 1
        if n > 50:
            break
    else_less = n
    return else_less
'''


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    return load(tmp_path, SOURCE)


def load(folder: Path, source: str, name: str = "subject") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("name", ["helper", "loops", "bits"])
def test_compiled_and_interpreted_agree(module: ModuleType, name: str):
    loaded = load_object(compile_llvm(llvm_text([module], [name], processor())), [name])
    compiled = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(loaded[name])
    for n in range(-3, 12):
        for m in range(-2, 14):
            assert compiled(n, m) == int(getattr(module, name)(n, m)), (n, m)


def test_truth_values_are_words(module: ModuleType):
    loaded = load_object(compile_llvm(llvm_text([module], ["choose"], processor())), ["choose"])
    compiled = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(loaded["choose"])
    assert [compiled(0, 0), compiled(0, 5), compiled(2, 3)] == [1, 1, 53]


@pytest.mark.parametrize("statement", ["return n / 2", "n = [n]", "return n in n", "return print(n)", "del n"])
def test_other_python_is_refused(tmp_path: Path, statement: str):
    module = load(tmp_path, f"def f(n):\n    {statement}\n")
    with pytest.raises(TypeError, match=r"f:\d+: `.*`: "):
        llvm_text([module], ["f"], processor())


def test_functions_of_several_modules_use_each_other(tmp_path: Path):
    one = load(tmp_path, "STEP = 5\ndef step(n):\n    return n + STEP\n", "one")
    other = load(tmp_path, "STEP = 2\ndef twice(n):\n    return step(n) * STEP\n", "other")
    other.step = one.step
    loaded = load_object(compile_llvm(llvm_text([one, other], ["twice"], processor())), ["twice"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded["twice"])(4) == other.twice(4) == 18
