"""Carries of loops that are one kernel: stored over those before where nothing else reads these, right where not."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loop_runs import assert_close, compiled
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Block

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.bounds import trip_count
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.loops.in_place import store_in_place

Array = np.ndarray[Any, Any]
Body = Callable[[Any, tuple[Any, ...], Any], tuple[tuple[Any, ...], Any]]
N = 4
ELEMENTS = N * N
IN_NUMPY = SimpleNamespace(tanh=np.tanh, concat=np.concatenate, transpose=np.transpose)


def alone(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    """Each element of the carry and of the rows is loaded, and one is stored."""
    (c,) = carry
    return (c - 0.1 * o.tanh(c * e),), None


def product(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    (c,) = carry
    return (o.tanh(c @ e + e),), None


def read_behind(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    """What is stored over the carry is read again, by a product."""
    (c,) = carry
    after = o.tanh(c @ e)
    return (after,), after @ c


def both_read_both(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    a, b = carry
    return (a * 0.5 + b * e, b - a @ e), o.tanh(a)


def one_behind_the_other(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    a, b = carry
    first = o.tanh(a @ e) * a
    return (first, o.tanh(first @ b) - b), None


def other_elements(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    """The row before, and the element across the diagonal."""
    a, b = carry
    turned = o.concat([a[1:], a[:1]], 0)
    return (a * 0.5 + turned * e, b * e - o.transpose(b, (1, 0))), None


def in_parts(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    """Parts of the carry are computed one behind the other."""
    (c,) = carry
    return (o.concat([o.tanh(c @ e)[:2], e[2:3], c[:1] * 0.5], 0),), None


def parts_of_rows(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    """Of each row some elements are gone through, which are no line."""
    (c,) = carry
    return (c + e,), o.tanh(c[:, :3] * e[:, 1:])


def handed_over(o: Any, carry: tuple[Any, ...], e: Any) -> tuple[tuple[Any, ...], Any]:
    """Carries that change places, and one that does not change."""
    a, b, same = carry
    return (b, o.tanh(a * e) + same, same), b


CASES: dict[Body, int] = {
    alone: 1,
    product: 1,
    read_behind: 1,
    both_read_both: 2,
    one_behind_the_other: 2,
    other_elements: 2,
    in_parts: 1,
    parts_of_rows: 1,
    handed_over: 3,
}
"""Bodies, and how many carries they have."""


def arrays_of(carries: int, length: int) -> dict[str, Array]:
    rng = np.random.default_rng(length)
    names = [f"c{i}" for i in range(carries)]
    return {"x": rng.standard_normal((length, N, N)), **{name: rng.standard_normal((N, N)) for name in names}}


def graph_of(body: Body, arrays: dict[str, Array], reverse: bool = False) -> rlx.Graph:
    g = rlx.Graph("steps")
    x, *init = (g.input(name, array.shape, "f64") for name, array in arrays.items())
    last, ys = g.scan(lambda carry, e: body(g, carry, e), tuple(init), x, reverse=reverse)
    g.set_outputs([*last, *([] if ys is None else [ys])])
    return g


@pytest.mark.sampled
@pytest.mark.parametrize("body", CASES, ids=lambda body: body.__name__)
@pytest.mark.parametrize(("length", "reverse"), [(1, False), (2, True), (5, True), (6, False)])
def test_every_iteration_reads_what_the_one_before_left(body: Body, length: int, reverse: bool) -> None:
    arrays = arrays_of(CASES[body], length)
    x, *init = arrays.values()
    carry, ys = tuple(init), dict[int, Array]()
    for t in range(length)[:: -1 if reverse else 1]:
        carry, y = body(IN_NUMPY, carry, x[t])
        if y is not None:
            ys[t] = y
    expected = [*carry, *([np.stack([ys[t] for t in range(length)])] if ys else [])]
    for ours, theirs in zip(compiled(graph_of(body, arrays, reverse), **arrays), expected, strict=True):
        assert_close(ours, theirs)


def touched(block: Block) -> int:
    """Elements that are loaded and stored, without what is done at the end only."""
    total = 0
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            total += (trip_count(op) or 1) * touched(op.body.block)
        total += isinstance(op, memref.LoadOp | memref.StoreOp)
    return total


@pytest.mark.parametrize("length", [5, 6])
def test_no_carry_is_moved_that_is_computed_element_by_element(length: int) -> None:
    kernels = [op for op in rlx.lower(graph_of(alone, arrays_of(1, length))).module.walk() if isinstance(op, KernelOp)]
    (loop,) = (kernel for kernel in kernels if "_loop_" in kernel.sym_name.data)
    assert touched(loop.body.block) == 3 * ELEMENTS


@pytest.mark.parametrize(("backwards", "possible"), [(False, True), (True, False)])
def test_elements_that_others_are_computed_from_are_not_stored_over(backwards: bool, possible: bool) -> None:
    line = MemRefType(f32, [ELEMENTS])
    kernel = Kernel([line, line], ["old", "new"])
    old, new, *_ = kernel.block.args
    for nest, i in kernel.entry.over((kernel.index(0), kernel.index(ELEMENTS)), "i"):
        s = nest.scalars
        other = (s.of(kernel.index(ELEMENTS - 1)) - s.of(i)).value if backwards else i
        nest.store(nest.load(old, [other]), new, [i])
    assert store_in_place(kernel.entry, old, new, ELEMENTS) is possible
    (store,) = (op for op in kernel.block.walk() if isinstance(op, memref.StoreOp))
    assert store.memref is (old if possible else new)
