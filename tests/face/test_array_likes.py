"""Arrays of any library, and NumPy's scalars: captured, as operands, arguments and carries, read once and right."""

# What a library passes is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

import warnings
from array import array as python_array
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import pytest
from oracle import numpy_dtype

import xdsl_rlx as rlx
from xdsl_rlx.dialects.arrays import plain_array
from xdsl_rlx.dialects.shapes import DTYPES

NAMES = [name for name in DTYPES if name != "i1"]


class Converting:
    """An array of a library that knows `__array__`, in its old form; it claims another dtype and shape."""

    dtype = np.dtype(np.int8)
    shape = (99,)

    def __init__(self, array: np.ndarray):
        self.array = array

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)


class Copying(Converting):
    """One with the keyword of NumPy 2, and no other attributes of arrays."""

    dtype = property()  # pyright: ignore
    shape = property()  # pyright: ignore

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.array if dtype is None else self.array.astype(dtype)
        return found.copy() if copy else found


class Interface:
    """An array that says where its memory is."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Exporting:
    """An array that knows DLPack alone."""

    def __init__(self, array: np.ndarray):
        self.array = np.ascontiguousarray(array)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Refusing:
    """As a tensor of PyTorch that needs a gradient."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


class Sub(np.ndarray):
    """A subclass whose bytes and conversions are its own."""

    def astype(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("read through the protocols")

    def tobytes(self, *_: Any, **__: Any) -> bytes:
        raise AssertionError("read through the protocols")


def unaligned(array: np.ndarray) -> np.ndarray:
    found = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


WAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "plain": lambda x: x,
    "__array__ without copy": Converting,
    "__array__ with copy": Copying,
    "__array_interface__": Interface,
    "__dlpack__": Exporting,
    "subclass": lambda x: x.view(Sub),
    "matrix": lambda x: x.view(np.matrix),
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "little-endian": lambda x: x.astype(x.dtype.newbyteorder("<")),
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda x: x.T.copy().T,
    "strided": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "unaligned": unaligned,
    "read-only": read_only,
    "jax": jnp.asarray,
    "pandas": pd.DataFrame,
    "memory view": lambda x: memoryview(cast(Any, x)),
}


def numbers(name: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    found = rng.integers(0, 100, (2, 3)) + (0.1 if np.dtype(numpy_dtype(name)).kind in "fcV" else 0)
    return (found + (1j if name[0] == "c" else 0)).astype(numpy_dtype(name))


NOT_OF_HALVES = ("__array_interface__", "__dlpack__", "big-endian", "matrix", "pandas", "memory view")
"""Ways that NumPy does not take bfloat16."""
CASES = [(name, way) for name in NAMES for way in WAYS if name != "bf16" or way not in NOT_OF_HALVES]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_an_array_of_any_library_is_read_as_numpy_reads_it(name: str, way: str):
    wanted = numbers(name)
    given = WAYS[way](wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = plain_array(given)
    assert type(found) is np.ndarray and found.dtype == wanted.dtype and found.dtype.isnative
    assert found.flags.c_contiguous and found.flags.aligned
    np.testing.assert_array_equal(found, wanted)
    g = rlx.Graph("g")
    assert g.constant(given).dtype == name
    traced = rlx.trace(lambda x: x, given)
    assert traced.interface.arguments[0].value.type == g.constant(wanted).type


@pytest.mark.sampled
@pytest.mark.parametrize("way", [way for way in WAYS if way != "memory view"])
@pytest.mark.parametrize("name", ["f32", "f64", "i8"])
def test_captured_operands_arguments_and_carries_are_those_arrays(name: str, way: str):
    wanted = numbers(name)
    given = WAYS[way](wanted)
    one = np.ones((), wanted.dtype)

    def function(x: Any, y: Any) -> Any:
        carry = rlx.fori_loop(0, 2, lambda _, c: c + y, given)
        return x + given, x * y, rlx.cond(y.sum() > 0, lambda: given, lambda: y), carry

    found = rlx.compile(function)(one, given)
    for ours, theirs in zip(found, (wanted + one, wanted * one, wanted, 3 * wanted), strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    g = rlx.Graph("g")
    g.set_outputs(g.input("x", (2, 3), name) + g.constant(given))
    np.testing.assert_array_equal(rlx.compile(g)(given)[0], wanted + wanted)


def test_a_captured_jax_array_of_narrower_floats_is_converted_by_numpy():
    w = jnp.asarray(np.arange(6, dtype=np.float32).reshape(2, 3) / 3)
    x = np.linspace(0, 1, 6).reshape(2, 3)
    np.testing.assert_array_equal(rlx.compile(lambda x: x + w)(x), x + np.asarray(w))
    assert rlx.Graph("g").constant(w, "f64").dtype == "f64"


def test_other_buffers_and_files_are_arrays(tmp_path: Path):
    mapped = np.memmap(tmp_path / "m", np.float32, "w+", shape=(2, 3))
    mapped[...] = numbers("f32")
    found = plain_array(mapped)
    assert type(found) is np.ndarray and np.shares_memory(found, mapped)
    np.testing.assert_array_equal(rlx.compile(lambda x: x * mapped)(np.float32(2)), 2 * numbers("f32"))
    assert rlx.Graph("g").constant(python_array("d", [1.0, 2.0])).type == rlx.Graph("g").constant(np.ones(2)).type
    series = pd.Series([1.5, 2.5], index=[7, 9])
    np.testing.assert_array_equal(rlx.compile(lambda x: x * series)(np.array([2.0, 4.0])), [3.0, 10.0])


RECORDS = np.array([(1.0, 2.0)], [("a", "f8"), ("b", "f8")]).view(np.recarray)
REFUSED: dict[str, tuple[Any, str]] = {
    "masked": (np.ma.array([1.0, 2.0], mask=[True, False]), r"pass array.filled\(number\)"),
    "record": (RECORDS, "not supported|an array of numbers|made of numbers"),
    "text": (np.array(["a"]), "not supported|an array of numbers|made of numbers"),
    "objects": (pd.Series([1, None, "a"], dtype=object), "not supported|an array of numbers|trees of arrays"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "not supported|an array of numbers|made of numbers"),
    "uint64": (np.ones(2, np.uint64), "uint64.*not supported"),
    "needs a gradient": (Refusing(), r"class .*Refusing cannot be read .*detach.*; pass a NumPy array"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_cannot_be_read_is_refused_wherever_it_is_given(which: str):
    given, words = REFUSED[which]
    calls: tuple[Callable[[], Any], ...] = (
        lambda: rlx.Graph("g").constant(given),
        lambda: rlx.trace(lambda x: x, given),
        lambda: rlx.compile(lambda x: x)(given),
        lambda: rlx.compile(lambda x: x + given)(np.ones(2)),
    )
    for call in calls[: 3 if which == "uint64" else 4]:
        with pytest.raises(rlx.RlxError, match=words):
            call()


def test_no_class_is_an_array():
    for x in (np.ndarray, Converting, 1, 1.0, "a", b"a", [1.0], (1.0,), None, range(3), {}):
        assert plain_array(x) is None


SCALARS = [
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.float16, np.float32, np.float64),
    *(np.complex64, np.complex128, ml_dtypes.bfloat16),
]
USES: dict[str, Callable[[Any, Any], Any]] = {
    "result": lambda s, x: s,
    "carry": lambda s, x: rlx.fori_loop(0, 2, lambda _, c: c, s),
    "carry of while": lambda s, x: rlx.while_loop(lambda c: c[1] < 1, lambda c: (c[0], c[1] + 1), (s, np.int64(0)))[0],
    "carry of scan": lambda s, x: rlx.scan(lambda c, _: (c, c), s, length=2),
    "branch": lambda s, x: rlx.cond(x.sum() > 0, lambda: s, lambda: s),
    "branch beside a value": lambda s, x: rlx.cond(x.sum() > 0, lambda: (s, x), lambda: (s, x)),
    "operand": lambda s, x: x + s,
    "operand on the left": lambda s, x: s * x,
    "compared": lambda s, x: x == s,
    "chosen": lambda s, x: np.where(x > 0, s, x),
    "chosen of two": lambda s, x: np.where(x > 0, s, s),
    "maximum": lambda s, x: np.add(x, s),
    "function": lambda s, x: cast(Any, rlx).add(s, s),
    "list": lambda s, x: np.stack([x, x * s]),
    "full": lambda s, x: np.full_like(x, s),
    "power": lambda s, x: (x + 1) ** s,
    "clip": lambda s, x: np.minimum(x, s),
}


def outcome(use: Callable[[Any, Any], Any], s: Any, x: np.ndarray) -> Any:
    """The element types of what it builds, or what is wrong with it."""
    try:
        return [str(one) for one in rlx.trace(lambda x: use(s, x), x).interface.outputs]
    except rlx.RlxError as error:
        return type(error)


@pytest.mark.sampled
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda kind: kind.__name__)
def test_a_scalar_of_numpy_counts_as_an_array_without_dimensions(scalar: Any, use: str):
    for dtype in (np.float32, np.int64, np.complex64):
        x = np.ones(3, dtype)
        assert outcome(USES[use], scalar(1), x) == outcome(USES[use], np.array(1, np.dtype(scalar)), x), dtype


def test_a_sum_from_a_double_is_a_double():
    total = rlx.fori_loop(0, 1_000_000, lambda _, c: c + 0.1, np.float64(0.0))
    assert total.dtype == np.float64 and abs(total - 100000.0) < 1e-4
    assert rlx.compile(lambda: rlx.scan(lambda c, _: (c + 0.1, None), np.float64(0), length=3)[0])().dtype == np.float64
