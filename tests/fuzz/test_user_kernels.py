"""Random kernels of users, whose indices may be out of bounds: right results, or an OutOfBoundsError.

The reference is the kernel's own Python function, on arrays that refuse an index from outside.
"""

import linecache
import random
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernel_dsl import Iteration

ROWS, COLUMNS = 5, 7


class Strict:
    """An array that refuses computed indices that are negative or too large, as a checked kernel does."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape = array, array.shape

    def _within(self, index: tuple[int, int]) -> tuple[int, int]:
        if not all(0 <= at < extent for at, extent in zip(index, self.shape, strict=True)):
            raise IndexError(index)
        return index

    def __getitem__(self, index: tuple[int, int]) -> Any:
        return self.array[self._within(index)]

    def __setitem__(self, index: tuple[int, int], value: Any) -> None:
        self.array[self._within(index)] = value


class Maker:
    """The text of a kernel from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.risky = self.rng.random() < 0.5
        self.lines = ["def kernel(it, x, k, y):", "    i = it.index", f"    for c in range({COLUMNS}):"]
        self.lines += ["        y[i, c] = 0.0"]

    def index(self, extent: int, names: list[str]) -> str:
        """An index of a dimension; in bounds, unless the kernel is risky and this one is chosen to be out."""
        rng = self.rng
        name = rng.choice(names)
        forms = [
            f"{name} + {rng.randrange(4)}",
            f"{name} - {rng.randrange(1, 4)}",
            f"{rng.randrange(2, 4)} * {name}",
            f"{extent - 1} - {name}",
            f"{name} // 2",
            f"k[i, {rng.randrange(COLUMNS)}]",
        ]
        form = rng.choice(forms)
        if self.risky and rng.random() < 0.3:
            return form
        return rng.choice([f"min(max({form}, 0), {extent - 1})", f"({form}) % {extent}"])

    def read(self, names: list[str]) -> str:
        """A number that is read from an operand, or from this iteration's row of the result."""
        column = self.index(COLUMNS, names)
        return self.rng.choice([f"x[{self.index(ROWS, names)}, {column}]", f"y[i, {column}]"])

    def statements(self, indent: str, names: list[str], depth: int) -> None:
        rng = self.rng
        for _ in range(rng.randrange(1, 3)):
            kind = rng.randrange(4) if depth else 0
            if kind == 1:
                # more than one iteration: a negative index that is known at translation counts from the end
                name = f"j{len(self.lines)}"
                self.lines.append(f"{indent}for {name} in range({rng.randrange(2, COLUMNS + 2)}):")
                self.statements(indent + "    ", [*names, name], depth - 1)
            elif kind == 2:
                self.lines.append(f"{indent}if {self.read(names)} < {self.read(names)}:")
                self.statements(indent + "    ", names, depth - 1)
            elif kind == 3:
                form = f"{rng.choice(names)} + k[i, {rng.randrange(COLUMNS)}]"
                self.lines.append(f"{indent}if 0 <= {form} < {COLUMNS}:")
                self.lines.append(f"{indent}    y[i, {form}] += 1.0")
            else:
                target = self.index(COLUMNS, names)
                self.lines.append(f"{indent}y[i, {target}] = 0.5 * {self.read(names)} + {self.read(names)}")

    def text(self) -> str:
        self.statements("    ", ["i"], 3)
        return "\n".join(self.lines) + "\n"


def kernel_of(seed: int) -> Any:
    name, text = f"<kernel {seed}>", Maker(seed).text()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    return names["kernel"]


def expected(kernel: Any, x: np.ndarray, k: np.ndarray) -> np.ndarray | None:
    """The result in Python; None if an index is out of bounds."""
    y = np.empty_like(x)
    try:
        for i in range(ROWS):
            kernel(Iteration(i), Strict(x), Strict(k), Strict(y))
    except IndexError:
        return None
    return y


def test_kernels_are_right_or_an_error(rare_seed: int, monkeypatch: pytest.MonkeyPatch):
    kernel, rng = kernel_of(rare_seed), np.random.default_rng(rare_seed)
    op = rlx.custom_op(
        "users.random", kernel="nest", shape=lambda x, k: x, iterations=lambda x, k: x.shape[0], replace=True
    )(kernel)
    g = rlx.Graph("g")
    g.set_outputs([op(g.input("x", (ROWS, COLUMNS), "f64"), g.input("k", (ROWS, COLUMNS), "i64"))])
    try:
        checked = rlx.compile(g, 1)
    except rlx.RlxError:
        # an index that is known to be out of bounds in every iteration
        assert expected(kernel, rng.standard_normal((ROWS, COLUMNS)), np.zeros((ROWS, COLUMNS), np.int64)) is None
        return
    monkeypatch.setenv("XDSL_RLX_CHECK", "0")
    unchecked = rlx.compile(g, 2)
    for low, high in ((0, 3), (-2, COLUMNS + 2), (-(2**62), 2**62)):
        x = rng.standard_normal((ROWS, COLUMNS))
        k = rng.integers(low, high, (ROWS, COLUMNS))
        before = x.copy(), k.copy()
        wanted = expected(kernel, x, k)
        if wanted is None:
            with pytest.raises(rlx.OutOfBoundsError, match=r"users|kernel|random"):
                checked(x, k)
        else:
            for run in (checked, unchecked):
                np.testing.assert_allclose(run(x, k)[0], wanted, rtol=1e-13)
        np.testing.assert_array_equal(x, before[0])
        np.testing.assert_array_equal(k, before[1])
