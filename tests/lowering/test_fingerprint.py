"""What a key depends on: everything that changes a program, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.fingerprint import fingerprint


def of(build: Callable[[rlx.Graph, Any, Any], Any], graph_name: str = "f", y_name: str = "y") -> str:
    """The fingerprint of a graph of two inputs."""
    g = rlx.Graph(graph_name)
    built = build(g, g.input("x", (4, 4)), g.input(y_name, (4, 4)))
    g.set_outputs(list(built) if isinstance(built, tuple) else [built])
    return fingerprint(g.module)


def weights(value: float) -> np.ndarray:
    """A matrix that differs from others in its last element only."""
    found = np.arange(16, dtype=np.float32).reshape(4, 4)
    found[-1, -1] = value
    return found


def convolved(g: rlx.Graph, x: Any, y: Any, dilation: int) -> Any:
    """A convolution whose result has the same shape whatever the dilation."""
    image, kernel = g.reshape(x, (1, 1, 4, 4)), g.reshape(y[:3, :3], (1, 1, 3, 3))
    return g.conv(image, kernel, padding=dilation, dilation=dilation)


PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "an op": (lambda g, x, y: x + y, lambda g, x, y: x * y),
    "order of operands": (lambda g, x, y: x - y, lambda g, x, y: y - x),
    "order of outputs": (lambda g, x, y: (x + y, x - y), lambda g, x, y: (x - y, x + y)),
    "an element type on the way": (
        lambda g, x, y: g.cast(g.cast(x, "f16"), "f32"),
        lambda g, x, y: g.cast(g.cast(x, "bf16"), "f32"),
    ),
    "a shape on the way": (
        lambda g, x, y: g.reshape(g.reshape(x, (2, 8)), (4, 4)),
        lambda g, x, y: g.reshape(g.reshape(x, (8, 2)), (4, 4)),
    ),
    "an attribute": (lambda g, x, y: g.softmax(x, 0), lambda g, x, y: g.softmax(x, 1)),
    "an element of a constant": (
        lambda g, x, y: x * g.constant(weights(1.0)),
        lambda g, x, y: x * g.constant(weights(2.0)),
    ),
    "a geometry": (lambda g, x, y: convolved(g, x, y, 1), lambda g, x, y: convolved(g, x, y, 2)),
    "an op of a body": (lambda g, x, y: g.remat(g.sin, x), lambda g, x, y: g.remat(g.cos, x)),
    "a number in a body": (
        lambda g, x, y: g.scan(lambda c, e: (c * 2.0, None), y, x)[0],
        lambda g, x, y: g.scan(lambda c, e: (c * 3.0, None), y, x)[0],
    ),
    "order of branches": (
        lambda g, x, y: g.cond(g.reduce_sum(x) > 0.0, lambda: x, lambda: y),
        lambda g, x, y: g.cond(g.reduce_sum(x) > 0.0, lambda: y, lambda: x),
    ),
    "a rule": (
        lambda g, x, y: g.custom_fn(g.sin, x, vjp=lambda a, y, d: d),
        lambda g, x, y: g.custom_fn(g.sin, x, vjp=lambda a, y, d: -d),
    ),
    "a splat": (lambda g, x, y: x * 2.0, lambda g, x, y: x * 3.0),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_changes_a_program_changes_its_fingerprint(pair: tuple[Callable[..., Any], Callable[..., Any]]):
    first, second = map(of, pair)
    assert first != second
    assert of(pair[0]) == first


def test_names_of_arguments_count():
    assert of(lambda g, x, y: x + y) != of(lambda g, x, y: x + y, y_name="z")


def test_names_of_values_do_not_count():
    def named(g: rlx.Graph, x: Any, y: Any) -> Any:
        total = x + y
        total.ssa.name_hint = "total"
        return total

    assert of(named) == of(lambda g, x, y: x + y)


def test_programs_for_other_numbers_of_threads_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    g = rlx.Graph("f")
    g.set_outputs([g.exp(g.input("x", (3, 5)))])
    assert not compile_module(g.module, 1).from_cache
    assert not compile_module(g.module, 2).from_cache
    assert compile_module(g.module, 1).from_cache
