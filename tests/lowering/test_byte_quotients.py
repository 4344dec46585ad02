"""Quotients of 8-bit integers by constants: the bits of a division, with and without one."""

# Functions of arrays of either library.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

DIVISORS = [
    255,
    127,
    127.5,
    3,
    7,
    10,
    0.1,
    0.2,
    0.229,
    -5,
    1 / 3,
    256,
    1e30,
    1e-30,
    1e-42,
    1e-45,
    0,
    -0.0,
    np.inf,
    np.nan,
]


@pytest.mark.sampled
@pytest.mark.parametrize("wide", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_all_bytes(divisor: float, dtype: str, wide: Any) -> None:
    x = np.arange(256).astype(dtype)
    with np.errstate(all="ignore"):
        exact = x.astype(wide) / wide(divisor)
    found = rlx.compile(lambda x: x.astype(wide) / wide(divisor))(x)
    assert found.dtype == exact.dtype
    nan = np.isnan(exact)
    assert np.array_equal(np.isnan(found), nan)
    assert found[~nan].tobytes() == exact[~nan].tobytes()


def test_pixels_are_not_divided() -> None:
    x = np.zeros((64, 64), np.uint8)
    assert "divf" not in str(rlx.lower(rlx.trace(lambda x: x.astype(np.float32) / 255, x)))
    assert "divf" in str(rlx.lower(rlx.trace(lambda x: x.astype(np.float32) / 255, x.astype(np.int32))))


def test_gradients_of_what_follows() -> None:
    x, w = np.arange(256).astype(np.uint8), np.ones(256, np.float32)
    found = rlx.compile(rlx.grad(lambda w, x: (w * (x.astype(np.float32) / 255)).sum()))(w, x)
    assert np.array_equal(found, x.astype(np.float32) / 255)
