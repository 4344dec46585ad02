"""Every way to write a dtype means what it means to NumPy where NumPy's functions and methods are called."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.constants import NUMPY_NAMES
from xdsl_rlx.dialects.shapes import DTYPES

CODES = [
    order + kind + size for order in ("", *"<>=|") for kind in "biufc" for size in ("1", "2", "4", "8", "16", "32")
]
WORDS = [*map(str, np.sctypeDict), *"?bBhHiIlLqQefdFDgG", *NUMPY_NAMES.values(), "int", "float", "complex", "bool"]
OBJECTS = [
    int,
    float,
    bool,
    complex,
    np.int8,
    np.dtype(">f4"),
    np.dtype("i8"),
    ml_dtypes.bfloat16,
    np.float64,
    "O",
    "S3",
]
SPELLINGS = [*dict.fromkeys([*CODES, *WORDS]), *OBJECTS]
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "astype": lambda x, t: x.astype(t),
    "zeros_like": lambda x, t: np.zeros_like(x, dtype=t),
    "ones_like": lambda x, t: np.ones_like(x, t),
    "full_like": lambda x, t: np.full_like(x, 1, dtype=t),
    "sum": lambda x, t: np.sum(x, dtype=t),
    "sum of a method": lambda x, t: x.sum(dtype=t),
    "prod": lambda x, t: x.prod(0, t),
    "cumsum": lambda x, t: np.cumsum(x, dtype=t),
    "reduce": lambda x, t: np.add.reduce(x, dtype=t),
    "accumulate": lambda x, t: np.add.accumulate(x, dtype=t),
    "ufunc": lambda x, t: np.add(x, x, dtype=t, casting="unsafe"),
    "concatenate": lambda x, t: np.concatenate([x, x], dtype=t, casting="unsafe"),
    "stack": lambda x, t: np.stack([x, x], dtype=t, casting="unsafe"),
    "trace": lambda x, t: np.trace(np.stack([x, x, x]), dtype=t),
}


def meant(spelling: Any) -> np.dtype | None:
    """What NumPy takes it for; None for what it does not know."""
    try:
        return np.dtype(spelling)
    except (TypeError, ValueError):
        return None


def test_astype_takes_every_spelling_for_what_numpy_does():
    supported = {np.dtype(name) for name in NUMPY_NAMES.values()}
    wrong: list[Any] = []
    for spelling in SPELLINGS:
        wanted = meant(spelling)
        if wanted is None:
            continue
        native = wanted.newbyteorder("=")
        x = rlx.Graph("g").input("x", (3,))
        try:
            found = np.dtype(x.astype(spelling).dtype)
        except rlx.GraphError:
            found = None
        if found != (native if native in supported else None):
            wrong.append((spelling, wanted, found))
    assert not wrong and len(SPELLINGS) > 200


@pytest.mark.parametrize("name", CALLS)
def test_each_function_with_a_dtype_takes_it_as_numpy_does(name: str):
    for spelling in ("i8", "i4", "f8", "d", "int", float, np.int64, np.dtype("f8"), "float16"):
        wanted = np.asarray(CALLS[name](np.ones(3, np.float32), spelling)).dtype.newbyteorder("=")
        x = rlx.Graph("g").input("x", (3,))
        found = CALLS[name](x, spelling)
        assert np.dtype(found.dtype) == wanted, spelling
    with pytest.raises(rlx.GraphError, match="'u8' is NumPy's uint64, which is not supported; u8 of the IR is 'uint8'"):
        CALLS[name](rlx.Graph("g").input("x", (3,)), "u8")


@pytest.mark.parametrize("name", DTYPES)
def test_graphs_keep_the_names_of_the_ir(name: str):
    g = rlx.Graph("g")
    x = g.input("x", (3,), name)
    assert x.dtype == name and g.zeros_like(x).dtype == name and g.zeros_like(x).cast(name).dtype == name
    # the element type of a value is no text, and means itself
    assert x.astype(x.dtype).dtype == name and np.zeros_like(x, dtype=x.dtype).dtype == name


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "i16", "i32", "u32", "i64", "c64", "c128"])
def test_names_that_numpy_does_not_know_are_those_of_the_ir(name: str):
    with pytest.raises(TypeError):
        np.dtype(name)
    assert rlx.Graph("g").input("x", (3,)).astype(name).dtype == name
