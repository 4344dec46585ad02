"""Kernels that users write: what they may not do is an error that names the line, when they are translated."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernel_dsl import getrf, scratch

Kernel = Callable[..., Any]


def graph_of(kernel: Kernel) -> rlx.Graph:
    name = f"users.{kernel.__name__}"
    op = rlx.custom_op(name, kernel="nest", shape=lambda x: x, iterations=lambda x: x.shape[0], replace=True)(kernel)
    g = rlx.Graph("g")
    g.set_outputs([op(g.input("x", (4,)))])
    return g


def compiled(kernel: Kernel) -> Any:
    return rlx.compile(graph_of(kernel), 1)


def stores(it: Any, x: Any, y: Any) -> None:
    x[it.index] = 7.0


def adds(it: Any, x: Any, y: Any) -> None:
    x[it.index] += 1.0
    y[it.index] = x[it.index]


def fills(it: Any, x: Any, y: Any) -> None:
    x[0:2] = 0.0
    y[it.index] = x[it.index]


def copies(it: Any, x: Any, y: Any) -> None:
    y[it.index] = 1.0
    x[0:2] = y[0:2]


def stores_in_a_branch(it: Any, x: Any, y: Any) -> None:
    y[it.index] = 1.0
    if x[it.index] > 0.0:
        x[0] = 1.0


def stores_in_a_function(it: Any, x: Any, y: Any) -> None:
    def inner(a: Any) -> None:
        a[0] = 1.0

    inner(x)
    y[it.index] = 1.0


@pytest.mark.parametrize("kernel", [stores, adds, fills, copies, stores_in_a_branch, stores_in_a_function])
def test_an_operand_is_not_written(kernel: Kernel):
    with pytest.raises(rlx.RlxError, match=r"test_user_kernels.py:\d+: .*x is an operand, which is only read"):
        compiled(kernel)


def solves_in_place(it: Any, a: Any, y: Any) -> None:
    pivots = scratch((3,), "i32")
    getrf(a[it.index], pivots)
    y[it.index] = 0.0


def test_an_operand_is_not_factored_in_place():
    op = rlx.custom_op("users.solves", kernel="nest", shape=lambda x: x, iterations=lambda x: x.shape[0], replace=True)
    g = rlx.Graph("g")
    g.set_outputs([op(solves_in_place)(g.input("a", (2, 3, 3)))])
    with pytest.raises(rlx.RlxError, match="a is an operand, which is only read"):
        rlx.compile(g, 1)


def large(it: Any, x: Any, y: Any) -> None:
    t = scratch((1 << 22,), "f32")
    t[0] = x[it.index]
    y[it.index] = t[0]


def large_together(it: Any, x: Any, y: Any) -> None:
    for _ in (0, 1, 2):
        t = np.empty((1 << 17,), "f32")
        t[0] = x[it.index]
        y[it.index] = t[0]


@pytest.mark.parametrize(("kernel", "left"), [(large, 1 << 20), (large_together, 0)])
def test_scratch_has_a_limit(kernel: Kernel, left: int):
    expected = rf"test_user_kernels.py:\d+: .* 1048576 bytes of scratch in all, of which {left} are left"
    with pytest.raises(rlx.RlxError, match=expected):
        compiled(kernel)


def negative(it: Any, x: Any, y: Any) -> None:
    scratch((-1,), "f32")


def broken(it: Any, x: Any, y: Any) -> None:
    scratch((2, 2.5), "f32")  # pyright: ignore


def computed(it: Any, x: Any, y: Any) -> None:
    scratch(it.index, "f32")


@pytest.mark.parametrize(
    ("kernel", "found"), [(negative, r"\(-1,\)"), (broken, r"\(2, 2.5\)"), (computed, "what the kernel computes")]
)
def test_scratch_has_known_extents(kernel: Kernel, found: str):
    with pytest.raises(rlx.RlxError, match=f"the extents of scratch must be known at compile time, got {found}"):
        compiled(kernel)


def all_of_it(it: Any, x: Any, y: Any) -> None:
    t = scratch((1 << 18,), "f32")
    t[(1 << 18) - 1] = x[it.index]
    y[it.index] = t[(1 << 18) - 1]


def test_scratch_up_to_the_limit_is_had():
    assert compiled(all_of_it)(np.arange(4, dtype=np.float32))[0].tolist() == [0, 1, 2, 3]


def in_a_small_thread(work: Callable[[], Any]) -> Any:
    """What `work` gives in a thread with a stack of 128 KB."""
    found: list[Any] = []
    before = threading.stack_size(1 << 17)
    try:
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return found[0]


def two_tables(it: Any, x: Any, y: Any) -> None:
    first, small, second = scratch((1 << 17,), "f32"), scratch((3,), "f32"), scratch((1 << 14,), "f32")
    small[1] = 1.0
    for n in range(1 << 14):
        first[8 * n + 7] = x[it.index]
        second[n] = x[it.index] + small[1]
    y[it.index] = first[(1 << 17) - 1] + second[(1 << 14) - 1]


def test_large_scratch_needs_no_large_stack():
    x = np.arange(4, dtype=np.float32)
    program = compiled(two_tables)
    assert in_a_small_thread(lambda: program(x))[0].tolist() == (2 * x + 1).tolist()
    (on_stack,) = [line for line in rlx.llvm_source(graph_of(two_tables)).splitlines() if " = alloca " in line]
    assert "[3 x float]" in on_stack


def test_kernels_of_the_package_need_no_large_stack():
    a = np.eye(24) + 0.1
    kernels = {
        "product": lambda a: a @ a,
        "svd": lambda a: np.linalg.svd(a)[1],
        "eigh": lambda a: np.linalg.eigh(a)[0],
        "qr": lambda a: np.linalg.qr(a)[1],
        "inv": np.linalg.inv,
        "sort": lambda a: np.sort(a, axis=0),
    }
    for name, kernel in kernels.items():
        program = rlx.compile(kernel)
        np.testing.assert_array_equal(in_a_small_thread(lambda p=program: p(a)), program(a), err_msg=name)


def test_text_that_writes_what_a_launch_reads_is_refused():
    g = rlx.Graph("g")
    g.set_outputs([g.cumsum(g.input("x", (4,)), 0)])
    text = str(rlx.lower(g))
    name = text[text.index("memref.load %") + len("memref.load ") :].split("[")[0]
    stored = text[text.index("memref.store ") :].splitlines()[0]
    value, rest = stored.removeprefix("memref.store ").split(", ", 1)
    target = rest.split("[")[0]
    assert name != target
    with pytest.raises((rlx.RlxError, PassFailedException), match="writ"):
        rlx.compile(rlx.parse(text.replace(stored, f"{stored}\nmemref.store {value}, {name}{rest[len(target) :]}")))
