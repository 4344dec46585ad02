"""Elementwise functions of jax.lax in all their element types, by their StableHLO."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import zlib
from collections.abc import Generator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from peers.stablehlo_compare import ALL, COMPLEXES, FLOATS, INTEGERS, NUMBERS, SIGNED, TRUTHS, WIDE, check, sample

ELEMENTWISE: dict[tuple[str, ...], tuple[str, ...]] = {
    ("neg", "sign", "square"): NUMBERS,
    ("floor", "ceil", "round", "is_finite", "exp2", "erf", "erfc", "cbrt"): FLOATS,
    ("exp", "expm1", "log", "log1p", "tanh", "logistic", "sin", "cos", "tan", "sqrt", "rsqrt"): (*FLOATS, *COMPLEXES),
    ("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"): (*FLOATS, *COMPLEXES),
    ("lgamma", "digamma", "erf_inv", "bessel_i0e", "bessel_i1e"): WIDE,
    ("real", "imag", "conj"): COMPLEXES,
    ("abs",): (*FLOATS, *COMPLEXES, *SIGNED),
    ("bitwise_not",): (*INTEGERS, *TRUTHS),
    ("population_count", "clz"): INTEGERS,
}
"""Functions of one operand."""

BINARY: dict[tuple[str, ...], tuple[str, ...]] = {
    ("add", "sub", "mul", "div"): NUMBERS,
    ("max", "min", "eq", "ne"): ALL,
    ("lt", "ge", "gt", "le"): (*FLOATS, *INTEGERS, *TRUTHS),
    ("rem",): (*FLOATS, *INTEGERS),
    ("pow",): (*FLOATS, *COMPLEXES),
    ("atan2",): FLOATS,
    ("nextafter", "igamma", "igammac", "polygamma", "zeta"): WIDE,
    ("bitwise_and", "bitwise_or", "bitwise_xor"): (*INTEGERS, *TRUTHS),
    ("shift_left", "shift_right_logical", "shift_right_arithmetic"): INTEGERS,
}
"""Functions of two operands."""


@pytest.fixture(autouse=True)
def _wide() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with jax.enable_x64(True):
        yield


def cases(table: dict[tuple[str, ...], tuple[str, ...]]) -> list[tuple[str, str]]:
    """Each function with each element type."""
    return [(name, dtype) for names, dtypes in table.items() for name in names for dtype in dtypes]


@pytest.mark.parametrize("name, dtype", cases(ELEMENTWISE))
def test_functions_of_one_operand(name: str, dtype: str) -> None:
    rng = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    check(name, getattr(lax, name), sample(dtype, rng))


@pytest.mark.parametrize("name, dtype", cases(BINARY))
def test_functions_of_two_operands(name: str, dtype: str) -> None:
    rng = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    x, y = sample(dtype, rng), sample(dtype, rng)
    if name.startswith("shift"):
        y = np.abs(y) % np.array(40, dtype)
    if name in ("igamma", "igammac", "zeta", "polygamma"):
        x, y = (np.full_like(x, 1) if name == "polygamma" else np.abs(x) + 1.1), np.abs(y) + 0.1
    check(name, getattr(lax, name), x, y)


def test_large_unsigned_numbers_are_divided() -> None:
    numbers = np.array([0, 1, 2, 3, 7, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64)
    x, y = (one.reshape(-1) for one in np.meshgrid(numbers, numbers))
    check("div", lambda x, y: (lax.div(x, y), lax.rem(x, y), x < y, lax.max(x, y)), x, y)
    small = np.array([0, 1, 3, 2**15, 2**16 - 1], np.uint16)
    x, y = (one.reshape(-1) for one in np.meshgrid(small, small))
    check("div", lambda x, y: (lax.div(x, y), lax.rem(x, y), x < y, lax.max(x, y)), x, y)


def test_special_numbers_are_kept() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 0.5, -1.0])
    for name in ("sign", "abs", "floor", "round", "sqrt", "exp", "tanh", "is_finite"):
        check(name, getattr(lax, name), x)
    a, b = (one.reshape(-1) for one in np.meshgrid(x, x))
    for name in ("max", "min", "atan2", "pow", "rem", "nextafter", "div"):
        check(name, getattr(lax, name), a, b)
    check("sort", lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argmax(x), lax.top_k(x, 3)), x)
