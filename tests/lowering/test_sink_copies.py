"""Elementwise ops behind joins, shifts, pads and strided slices: over sizes, axes and types, with their gradients."""

# Functions of arrays of either library.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from levels import EVERY

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "roll": lambda x, y: np.roll(x, 3, axis=1) * y,
    "joins of joins": lambda x, y: np.concatenate([x, np.concatenate([x[:1, 1:], -y[1:, 1:]], axis=0)], axis=1) * 2,
    "roll rows": lambda x, y: np.exp(np.roll(x, -1, axis=0) * 2) + y,
    "join": lambda x, y: np.concatenate([x, y * 2, x], axis=1) * 3,
    "join rows": lambda x, y: np.tanh(np.concatenate([x, y], axis=0)) + x[:1],
    "pad": lambda x, y: np.pad(x * y, ((1, 2), (3, 1))) * 2 - 1,
    "every other column": lambda x, y: x[:, ::2] * 2 + y[:, ::2],
    "every third row": lambda x, y: x[1::3] * y[:1],
    "differences": lambda x, y: x[:, 1:] * x[:, :-1] + y[:, :1],
    "rows of a table": lambda x, y: np.exp(x[np.arange(3 * x.shape[0]) // 3]) * 2,
    "columns of a table": lambda x, y: abs(x[:, np.arange(2 * x.shape[1]) % x.shape[1]] + 1) + y[:, :1],
    "transposed": lambda x, y: (np.exp(x) * 2 + y[:1]).T,
    "transposed, by its rows": lambda x, y: ((x - y[:, :1]).T / 3)[1:],
    "three axes": lambda x, y: np.transpose((x[:, :, None] * y[0, :3] + 1) * x[0, 0], (2, 0, 1)) - y.T[0, 0],
    "spread": lambda x, y: np.stack([x, y * 2], axis=-1).reshape(x.shape[0], -1) * 3,
}


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(4, 5), (33, 16), (20, 65), (3, 1001), (150, 514)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name: str, shape: tuple[int, int], threads: int) -> None:
    rng = np.random.default_rng(0)
    function = FUNCTIONS[name]
    x, y = rng.standard_normal(shape), rng.standard_normal(shape)
    for dtype in ("f4", "f8") if EVERY else (f"f{4 * threads}",):
        a, b = x.astype(dtype), y.astype(dtype)
        tolerance = 32 * float(np.finfo(dtype).eps)
        found = rlx.compile(function, threads=threads)(a, b)
        np.testing.assert_allclose(found, function(a.astype("f8"), b.astype("f8")), tolerance, tolerance)

    def loss(x: Any, y: Any) -> Any:
        return (function(x, y) ** 2).sum()

    gradients = rlx.compile(rlx.grad(loss, (0, 1)), threads=threads)(x, y)
    direction = [rng.standard_normal(shape), rng.standard_normal(shape)]
    step = 1e-6
    ahead, behind = (
        loss(*(value + sign * step * d for value, d in zip((x, y), direction, strict=True))) for sign in (1, -1)
    )
    slope = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-4)


def test_parts_are_computed_in_place() -> None:
    x, y = np.ones((64, 640), np.float32), np.ones((64, 640), np.float32)
    assert rlx.memory_report(rlx.trace(FUNCTIONS["join rows"], x, y)).arena == 0
    assert rlx.memory_report(rlx.trace(lambda x: np.roll(x, 128, axis=1) * 2, x)).arena == 0

    def loss(x: Any) -> Any:
        return (x[:, ::2] ** 2).sum()

    assert rlx.memory_report(rlx.trace(rlx.grad(loss), np.ones((64, 1001), np.float32))).arena < 64 * 1001


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 31, 33, 100, 126, 513])
def test_cheap_parts_are_computed_into_rows_of_any_length(columns: int) -> None:
    """What is left over behind whole vectors is computed one by one: dear functions take longer so than a copy."""

    def bytes_of(f: Callable[[Any], Any]) -> int:
        x, y = np.ones((200, columns), np.float32), np.ones((200, 7), np.float32)
        return rlx.memory_report(rlx.trace(lambda x, y: np.concatenate([f(x), y], axis=1), x, y)).arena

    rest = columns % 16
    assert bytes_of(lambda x: x * 2) == 0
    assert (bytes_of(np.sin) == 0) == (rest * 8 <= 2 * columns)


def test_dear_parts_of_what_is_read_by_rows_are_computed_in_place() -> None:
    """Loops over a window of columns, or over transposed rows, have what is left over in any case."""

    def bytes_of(f: Callable[[Any], Any]) -> int:
        x, y = np.ones((40, 40), np.float32), np.ones((31, 7), np.float32)
        return rlx.memory_report(rlx.trace(lambda x, y: np.concatenate([np.sin(f(x)), y], axis=1), x, y)).arena

    assert bytes_of(lambda x: x[1:32, 1:32]) == bytes_of(lambda x: x[:31, :31].T) == 0
    assert bytes_of(lambda x: x.reshape(-1)[: 31 * 31].reshape(31, 31)) > 0


def test_parts_of_parts_are_computed_in_place() -> None:
    """The other half of the bins of a transform of real numbers: three parts, of which two are one's part."""

    def bins(x: Any) -> Any:
        half = np.fft.fft(np.fft.rfft(x), axis=1)
        others = np.conj(np.roll(np.flip(half[:, :, 1:32], (1, 2)), 1, axis=1))
        return abs(np.concatenate([half, others], axis=2))

    module = lower_to_lir(rlx.compile(bins).trace(np.ones((4, 64, 64), np.float32)).module, 1)
    launches = [op for top in module.ops for op in ops_within(top) if isinstance(op, LaunchOp)]
    names = [launch.kernel.string_value() for launch in launches]
    assert sum("hypot" in name for name in names) == 3
    assert not any("copy" in name for name in names[-3:])
