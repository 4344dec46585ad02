"""Python's integers as arguments of compiled functions: as in NumPy where they fit, an error where they do not."""

import operator

# What a traced function is called with is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.binding import parameters_of
from xdsl_rlx.tracing import traced
from xdsl_rlx.tree import flatten

KINDS = [np.int8, np.int16, np.int32, np.uint8, np.uint32]
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor")},
    "maximum": np.maximum,
    "minimum": np.minimum,
    "reflected": lambda x, n: n - x,
    "ufunc": lambda x, n: np.add(n, x),
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "ufunc": np.less,
    "reflected": lambda x, n: n < x,
}
DERIVED: dict[str, Callable[[Any], Any]] = {
    "itself": lambda n: n,
    "linear": lambda n: 3 * n - 1,
    "negated": lambda n: -n,
    "quotient": lambda n: n // 3 + n % 2,
    "square": lambda n: n**2,
    "absolute": abs,
}


def numbers(kind: Any) -> list[int]:
    info = np.iinfo(kind)
    return [0, 1, -1, 5, info.max, info.max + 1, info.min, info.min - 1, 300, -(2**40)]


def array(kind: Any) -> np.ndarray:
    info = np.iinfo(kind)
    return np.array([1, 2, info.max, info.min, 7, 100], kind)


def all_of(functions: dict[str, Callable[[Any, Any], Any]]) -> Callable[[Any, Any], Any]:
    return lambda x, n: tuple(one(x, n) for one in functions.values())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_comparisons_are_exact(kind: Any):
    compare, x = all_of(COMPARISONS), array(kind)
    compiled = rlx.compile(compare)
    for n in numbers(kind):
        np.testing.assert_array_equal(compiled(x, n), compare(x, n), str(n))
    # numbers that the trace knows are compared as well
    known = rlx.compile(lambda x: [compare(x, n) for n in numbers(kind)])
    np.testing.assert_array_equal(known(x), [compare(x, n) for n in numbers(kind)])


@pytest.mark.sampled
@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_arithmetic_is_numpy_s_or_an_error(kind: Any, derived: str):
    x, compute = array(kind), all_of(ARITHMETIC)
    compiled = rlx.compile(lambda x, n: compute(x, DERIVED[derived](n)))
    for n in numbers(kind):
        try:
            with np.errstate(all="ignore"):
                wanted = compute(x, DERIVED[derived](n))
        except OverflowError:
            with pytest.raises(rlx.ArgumentError, match=f"^n: .* is out of range for an array of {np.dtype(kind)}"):
                compiled(x, n)
        else:
            for ours, theirs in zip(compiled(x, n), wanted, strict=True):
                assert ours.dtype == theirs.dtype == kind
                np.testing.assert_array_equal(ours, theirs, str(n))


X = np.array([1, -3, 100], np.int8)
PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "choice": lambda x, n: np.where(x > 0, x, n),
    "stack": lambda x, n: np.stack([x, x + n]),
    "loop": lambda x, n: rlx.fori_loop(0, 2, lambda _, c: c + n, x),
    "scan": lambda x, n: rlx.scan(lambda c, e: (c + n, e * n), x[0], x),
    "branch": lambda x, n: rlx.cond(x[0] > 0, lambda: x + n, lambda: x),
    "batch": lambda x, n: rlx.vmap(lambda a: a + n)(x),
    "argument of a batch": lambda x, n: rlx.vmap(lambda a, m: a + m, in_axes=(0, None))(x, n),
    "compiled in compiled": lambda x, n: rlx.compile(lambda y, m: y + m)(x, n),
    "batch in batch": lambda x, n: rlx.vmap(lambda a: rlx.vmap(lambda b, m: b + m + n, in_axes=(0, None))(x, n) + a)(x),
    "by name": lambda x, n: x + n,
    "gradient": lambda x, n: rlx.grad(lambda y, m: np.sum((x + m) * y))(np.float32(2.0), n),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_integer_is_followed_wherever_it_meets_an_array(name: str):
    compiled = rlx.compile(PLACES[name])
    for small in (5, -7):
        flatten(compiled(X, n=small))
    for large in (300, -129):
        with pytest.raises(
            rlx.ArgumentError, match=rf"n: {large} is out of range for an array of int8 \(-128 to 127\); pass"
        ):
            compiled(X, n=large)
    # an integer with a type of its own asks for no more than its type
    assert compiled(X, n=np.int8(5)) is not None


def test_what_is_not_followed_is_an_error_that_says_what_to_write():
    with pytest.raises(rlx.GraphError, match=r"int8, where it may not fit; convert it with astype\('int8'\)"):
        rlx.compile(lambda x, n: x + (n << 3))(X, 5)
    found = rlx.compile(lambda x, n: x + (n << 3).astype("int8"))(X, 5)
    np.testing.assert_array_equal(found, X + np.int8(40))


def test_the_sample_of_the_issue():
    assert rlx.compile(lambda x, n: x < n)(np.array([100], np.int8), 300).tolist() == [True]


def fits(function: Any) -> tuple[Any, ...]:
    return traced(parameters_of(function), (X, 300), "function").fits


def test_only_calls_with_such_integers_check_anything():
    compiled = rlx.compile(lambda x, n: (x < n, x.astype(np.int64) + n))
    assert compiled(X, 300)[1].tolist() == [301, 297, 400]
    assert fits(lambda x, n: (x < n, x.astype(np.int64) + n)) == ()
    assert len(fits(lambda x, n: x + n)) == 1
