"""NumPy's functions where results are known exactly: powers of ten, ends of ranges, extremes of integers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

TENS = np.array([float(f"1e{n}") for n in range(-300, 301)])
HALVES = np.full(3000, 0.1, np.float16)
BYTES = np.array([200, 100, 255, 0, 1], np.uint8)
SHORTS = np.array([-32768, -32767, -2, -1, 1, 2, 32767], np.int16)
WIDE = np.array([-(2**63), 1 - 2**63, -1, 1, 3, 2**63 - 1])
ENDS = np.array([0.1, -3.3, 1e-300, 7.0]), np.array([0.7, 12.1, 1e300, 7.0])
SIGNED = np.array([1.0, -2.0, 8.0]), np.array([1000.0, -2048.0, -3.0])
SCALED = np.array([1.5, -0.0, 3e-310, 1e300, np.inf, 1.0]), np.array([-1074, 5, 60, -2100, -2000, 1023])
MASK = np.array([True, False, True])
NANS = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
COMPLEX = np.array([1 + 2j, np.nan, 3 - 1j, complex(0, np.inf)])
FINITE = np.array([1 + 2j, -0.5 + 0.25j, 3 - 1j])

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "log10 of powers of ten": (np.log10, (TENS,)),
    "log10 of powers of ten, f32": (np.log10, (TENS[265:335].astype(np.float32),)),
    "sum with a dtype": (lambda x: np.sum(x, dtype=np.float64), (HALVES,)),
    "mean with a dtype": (lambda x: np.mean(x, dtype=np.float64), (HALVES,)),
    "integers summed in their type": (lambda x: (np.sum(x, dtype=np.uint8), np.prod(x, dtype=np.int32)), (BYTES,)),
    "sums so far with a dtype": (lambda x: np.cumsum(x, dtype=np.uint8), (BYTES,)),
    "reciprocal of bytes": (np.reciprocal, (BYTES[BYTES > 0],)),
    "reciprocal of i16": (np.reciprocal, (SHORTS,)),
    "reciprocal of i64": (np.reciprocal, (WIDE,)),
    "linspace": (lambda a, b: np.linspace(a, b, 7), ENDS),
    "linspace, floor": (lambda a, b: np.linspace(a, b, 9, dtype=int), (np.float64(0.6), np.float64(-4.0))),
    "linspace of one": (lambda a, b: np.linspace(a, b, 1, retstep=True), ENDS),
    "geomspace": (lambda a, b: np.geomspace(a, b, 4), SIGNED),
    "geomspace of integers": (lambda a, b: np.geomspace(a, b, 4, dtype=int), (np.int64(1), np.int64(1000))),
    "ldexp": (np.ldexp, SCALED),
    "modf": (np.modf, (np.array([np.inf, -np.inf, -0.0, -2.5]),)),
    "logaddexp2": (np.logaddexp2, (np.array([0.0, np.inf, -np.inf, 3.0]), np.array([-1000.0, np.inf, -np.inf, 3.0]))),
    "weights of bytes": (lambda x: np.average(x, weights=x), (BYTES,)),
    "nanvar with where": (lambda x, mask: np.nanvar(x, axis=1, where=mask), (NANS, MASK)),
    "nansum of complex numbers": (lambda x: np.nansum(x[:3]), (COMPLEX,)),
    "complex flags": (lambda x: (np.isnan(x), np.isinf(x), np.isfinite(x)), (COMPLEX,)),
    "products of complex numbers": (lambda x: (np.prod(x), np.cumsum(x)), (FINITE,)),
    "order of complex numbers": (lambda x: (x > 1j, np.maximum(x, 1), np.minimum(x, x[::-1])), (FINITE,)),
    "descending bins": (lambda x, bins: np.digitize(x, bins), (np.array([0, 1, 2, 5]), np.array([4, 2, 1]))),
    "gradient past NaN": (lambda x: np.gradient(x, 2.0), (np.array([1.0, np.nan, 4.0, 9.0]),)),
    "unwrapped integers": (lambda x: np.unwrap(x, period=4), (np.array([0, 3, 1, 7]),)),
    "einsum of truth values": (lambda x: np.einsum("i,j->ij", x, x), (MASK,)),
    "vander": (np.vander, (BYTES,)),
    "quantile at the ends": (lambda x: np.quantile(x, 1), (WIDE,)),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The results of all calls, by one program."""

    def program(arguments: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        return {name: function(*arguments[name]) for name, (function, _) in CALLS.items()}

    return rlx.compile(program)({name: arguments for name, (_, arguments) in CALLS.items()})


@pytest.mark.parametrize("name", CALLS)
def test_results_are_exactly_those_of_numpy(name: str, found: dict[str, Any]):
    function, arguments = CALLS[name]
    with np.errstate(all="ignore"):
        expected = function(*arguments)
    for one, other in zip(_leaves(found[name]), map(np.asarray, _leaves(expected)), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if "log10" in name:
            # where processors have long vectors, NumPy's own are off by a unit in the last place
            other = np.rint(other)
        near = 0 if other.dtype.kind in "biu" or "log10" in name or name == "ldexp" else 4e-16
        np.testing.assert_allclose(one, other, rtol=near, atol=0)


def test_spaces_end_where_they_are_told_to():
    ends = np.array([0.1, 1e-5, 3.0]), np.array([0.7, 1e5, 17.0])
    for space in (np.linspace, np.geomspace):
        found = rlx.compile(lambda a, b, space=space: space(a, b, 11))(*ends)
        assert (found[0] == ends[0]).all() and (found[-1] == ends[1]).all()


def test_logaddexp2_is_smooth_at_ties():
    slopes = rlx.grad(lambda x, y: np.sum(np.logaddexp2(x, y)), (0, 1))(np.array([2.0, 1.0]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(slopes, [[0.5, 0.2], [0.5, 0.8]], rtol=1e-15)
    curve = rlx.grad(rlx.grad(lambda x: np.logaddexp2(x, 2.0)))(2.0)
    np.testing.assert_allclose(curve, np.log(2) / 4, rtol=1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.round(x > 0, 1),
        lambda x: np.positive(x > 0),
        lambda x: np.quantile(x > 0, 0.5),
        lambda x: np.diff(x, n=-1),
        lambda x: np.linalg.outer(x[None], x),
        lambda x: np.fft.fftshift(x[0]),
        lambda x: np.vecdot(x, x[:1]),
        lambda x: np.matvec(x[None], x[:1]),
    ],
)
def test_errors_of_numpy_are_errors(call: Callable[[Any], Any]):
    x = np.arange(3.0)
    with pytest.raises((TypeError, ValueError)):
        call(x)
    with pytest.raises(rlx.GraphError):
        rlx.compile(call)(x)


def _leaves(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, tuple | list) else [np.asarray(tree)]
