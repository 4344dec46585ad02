"""Programs may have any name, also one that a kernel of theirs would have."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp, ProgramOp
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def ops(x: Any) -> Any:
    return np.exp(x) @ x + np.sort(x, 0)


def scanned(x: Any) -> Any:
    return rlx.scan(lambda c, row: (np.tanh(c * row) @ x, c.sum()), x[0], x)


def chosen(x: Any) -> Any:
    return rlx.scan(lambda c, row: rlx.cond(row.sum() > 0, lambda: (c @ x, c), lambda: (c - row, c)), x[0], x)


def repeated(x: Any) -> Any:
    return rlx.while_loop(lambda c: c.sum() < 10, lambda c: c @ (x * x) + 1, x[0])


def names_of_kernels(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, KernelOp)]


def leaves(results: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(x) for x in rlx.tree.flatten(results)[0]]


@pytest.mark.parametrize("f", [ops, scanned, chosen, repeated])
def test_functions_with_the_names_of_kernels_compute_the_same(f: Callable[..., Any]) -> None:
    expected = leaves(rlx.compile(f)(X))
    module = lower_to_lir(rlx.compile(f).trace(X).module, 1)
    assert names_of_kernels(module)
    for name in names_of_kernels(module):

        def renamed(x: Any) -> Any:
            return f(x)

        renamed.__name__ = name
        lowered = lower_to_lir(rlx.compile(renamed).trace(X).module, 1)
        lowered.verify()
        assert [op.sym_name.data for op in lowered.ops if isinstance(op, ProgramOp)] == [name]
        for one, other in zip(leaves(rlx.compile(renamed)(X)), expected, strict=True):
            np.testing.assert_array_equal(one, other)
