"""Bits of numbers as other types, and upper halves of products. The ops are in numerics/families/bits.py."""

from itertools import pairwise
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import xdsl_rlx as rlx

PATTERNS = np.random.default_rng(0).integers(0, 256, 64).astype(np.uint8)
TYPES: dict[str, Any] = {
    **{name: np.dtype(name) for name in ("int8", "uint8", "int16", "int32", "uint32", "int64")},
    **{name: np.dtype(name) for name in ("float16", "float32", "float64")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
PAIRS = [*pairwise(TYPES), ("int8", "float64"), ("float64", "uint8"), ("bfloat16", "float32"), ("int64", "float16")]


def _given(source: str, to: str) -> np.ndarray[Any, Any]:
    """Numbers of a type, as many along the last axis as an element of the other type is wide."""
    found, ratio = PATTERNS.view(TYPES[source]), TYPES[to].itemsize // TYPES[source].itemsize
    found = np.where(found == found, found, np.ones_like(found))
    return found.reshape(2, -1, ratio) if ratio > 1 else found.reshape(2, -1)


def test_bits_as_other_types_are_those_of_jax() -> None:
    given = {f"{source} {to}": _given(source, to) for source, to in PAIRS}

    def program(every: dict[str, Any]) -> dict[str, Any]:
        return {name: rlx.bitcast_convert_type(x, TYPES[name.split()[1]]) for name, x in every.items()}

    found = rlx.compile(program)(given)
    with jax.enable_x64(True):
        for name, x in given.items():
            expected = np.asarray(lax.bitcast_convert_type(x, TYPES[name.split()[1]]))
            assert found[name].shape == expected.shape and found[name].dtype == expected.dtype, name
            same = (found[name] == expected) | ((found[name] != found[name]) & (expected != expected))
            assert same.all(), name


def test_a_batch_of_bits_is_the_bits_of_each() -> None:
    found = rlx.compile(rlx.vmap(lambda x: rlx.bitcast_convert_type(x, "i16")))(np.float64([[1.5, -2.0], [3.0, 0.1]]))
    np.testing.assert_array_equal(found, np.float64([[1.5, -2.0], [3.0, 0.1]]).view(np.int16).reshape(2, 2, 4))


def test_bits_of_booleans_and_of_another_count_are_errors() -> None:
    with pytest.raises(rlx.GraphError, match="expected real numbers that are no booleans, got i1"):
        rlx.bitcast_convert_type(np.array([True]), "i8")
    with pytest.raises(rlx.GraphError, match=r"expected a last axis of extent 4, of which f32 .* got shape \[3, 5\]"):
        rlx.bitcast_convert_type(np.zeros((3, 5), np.int8), "f32")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_the_upper_half_of_a_product_is_exact(dtype: str) -> None:
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.max, info.min + 1, 0, 1, 3, info.max // 3 * 2, info.max // 7], dtype)
    found = rlx.compile(lambda x, y: rlx.mulhi(x, y))(edges[:, None], edges)
    expected = [[int(x) * int(y) >> info.bits for y in edges] for x in edges]
    np.testing.assert_array_equal(found, np.array(expected, dtype))
