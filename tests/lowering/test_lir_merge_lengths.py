"""One kernel for lines of any length: what runs is what would have run, on edges, threads, backends and with checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import optim

SIZES = (0, 1, 2, 3, 7, 16, 17, 63, 64, 65, 130, 1000, 4099, 70_000)


def halves(lines: list[Any]) -> list[Any]:
    return [np.sin(x) * 0.5 + 1.0 for x in lines]


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_lines_of_any_length_are_one_kernel(threads: int, dtype: str, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    lines = [rng.standard_normal(size).astype(dtype) for size in SIZES]
    # arguments beyond what the short version of sin is right for
    lines[-1][5] = 3e4
    expected = halves([line.astype("f8") for line in lines])
    for checked in "01":
        monkeypatch.setenv("XDSL_RLX_CHECK", checked)
        function = rlx.compile(halves, threads=threads)
        compiled = function.compiled(lines)
        # a single element has no loop, and nothing is launched for none
        assert compiled.kernel_count == 2 and len(compiled.program.launches) == len(SIZES) - 1
        for found, wanted in zip(function(lines), expected, strict=True):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)


def test_the_printed_module_says_the_same():
    rng = np.random.default_rng(1)
    lines = [rng.standard_normal(size).astype(np.float32) for size in (3, 64, 33)]
    ours, printed = (rlx.compile(halves, backend=backend)(lines) for backend in ("llvm", "numba"))
    for one, other in zip(ours, printed, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Lion"])
def test_an_optimiser_is_one_kernel_over_all_parameters(name: str):
    rng = np.random.default_rng(2)
    shapes = {"w": (33, 65), "v": (200, 150), "b": (65,), "gain": (3, 2, 5)}
    params = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    grads = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    optimiser = getattr(optim, name)(0.1)
    state = optimiser.init(params)

    def update(grads: Any, state: Any, params: Any) -> Any:
        return optimiser.update(grads, state, params)

    step = rlx.compile(update, donate={"params": 0, "state": 1})
    # the other kernel counts the steps
    assert step.compiled(grads, state, params).kernel_count == 2
    alone = {
        key: rlx.compile(update)({key: grads[key]}, optimiser.init({key: p}), {key: p}) for key, p in params.items()
    }
    found, _ = step(grads, state, params)
    for key, (wanted, _) in alone.items():
        np.testing.assert_array_equal(found[key], wanted[key])
