"""Branches and while loops that became kernels, against the same ones of launches and against Python."""

from collections.abc import Callable
from typing import Any

import branch_texts as texts
import jax
import numpy as np
import pytest
from loop_texts import WIDTH
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import IfOp, LaunchOp, LoopOp, SlotOp, WhileOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.loops.lir_outline_loops import LirOutlineLoopsPass

Array = np.ndarray


def rows(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal((*shape, WIDTH)).astype(np.float32)


def outlined(text: str) -> ModuleOp:
    module = rlx.parse(text)
    LirOutlineLoopsPass().apply(Context(), module)
    module.verify()
    return module


def control(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if isinstance(op, LoopOp | IfOp | WhileOp)]


def whole(text: str) -> str:
    """The launches of a text in one piece."""
    return text.replace("by 16 ", f"by {WIDTH} ")


TRUTHS = np.random.default_rng(1).random((3, 7)) < 0.5
TEXTS = {
    "by turns": (whole(texts.chosen_by_turns(7)), [(TRUTHS[0], TRUTHS[1:], rows())]),
    "counted": (whole(texts.counted_down()), [(np.array(n), rows(), 0.5 * rows()) for n in (-1, 0, 1, 2, 9)]),
    "in turn": (whole(texts.counted_in_turn(5, 3)), [(np.array([3, 0, 1, 5, 2]), rows(5, 3))]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_one_kernel_gives_the_bits_of_the_launches(name: str, run: Any):
    text, calls = TEXTS[name]
    module = outlined(text)
    assert control(module) == [] and sum(isinstance(op, LaunchOp) for op in module.walk()) <= 3
    apart, one = (compile_module(x, 1, Effort.QUICK) for x in (rlx.parse(text), module))
    printed = [run.text(lower_to_lir(module), jit=jit) for jit in (False, True)]
    specs = [*one.inputs, *one.program.params]
    for call in calls:
        (expected,) = apart(*call)
        named = {spec.name: value for spec, value in zip(specs, call, strict=True)}
        for found in (one(*call), *(f(**named) for f in printed)):
            assert np.array_equal(found[0], expected)


def test_buffers_that_nothing_else_uses_leave_the_arena():
    module = outlined(TEXTS["counted"][0])
    # what is left of `n` is set in front of the loop
    assert [op.result.name_hint for op in module.walk() if isinstance(op, SlotOp)] == ["left"]


def test_a_branch_outside_of_loops_and_launches_of_several_pieces_stay():
    assert control(outlined(whole(texts.chosen()))) == ["lir.if"]
    assert control(outlined(texts.counted_down())) == ["lir.while"]


def nested(n: Any, x: Any) -> Any:
    """A loop whose length depends on data, in one whose length depends on an argument."""

    def outer(state: Any) -> Any:
        i, x, total = state
        _, y = rlx.while_loop(lambda s: s[0] < i, lambda s: (s[0] + 1, np.sin(s[1]) + 0.25 * s[1]), (0 * i, x))
        return i + 1, y, total + y * x

    return rlx.while_loop(lambda s: s[0] < n, outer, (0 * n, x, 0 * x))[1:]


def chosen_in_a_scan(n: Any, x: Any) -> Any:
    """A branch in each step of a scan, of which one part has a loop."""

    def step(c: Any, i: Any) -> Any:
        def grown() -> Any:
            return rlx.while_loop(lambda s: (s * s).sum() < 10.0, lambda s: 1.5 * s + 0.125, c)

        y = rlx.cond(i % 2 == n % 2, grown, lambda: 0.5 * c)
        return y, y * x

    return rlx.scan(step, x, np.arange(5))


def scanned_in_a_loop(n: Any, x: Any) -> Any:
    """A scan in each step of a loop, whose history it reads by index."""

    def step(state: Any) -> Any:
        i, x = state
        last, stack = rlx.scan(lambda c, t: (0.5 * c + t, c), x, np.arange(4.0))
        return i + 1, last + stack[i % 4] * 0.25

    return rlx.while_loop(lambda s: s[0] < n, step, (0 * n, x))


@pytest.mark.sampled(most=7)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 33, 64, 65, 130, 700, 5000])
@pytest.mark.parametrize("f", [nested, chosen_in_a_scan, scanned_in_a_loop])
def test_values_are_those_of_plain_python(f: Callable[..., Any], size: int):
    compiled = rlx.compile(f)
    x = np.random.default_rng(size).standard_normal(size)
    for n in (0, 1, 2, 5):
        found, expected = (jax.tree.leaves(g(np.array(n), x)) for g in (compiled, f))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
