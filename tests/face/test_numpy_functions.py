"""NumPy's own functions and operators on traced values: the numbers, shapes and element types that NumPy gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.frontends.numpy.elements import UFUNCS
from xdsl_rlx.frontends.numpy.functions import FUNCTIONS

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
A = RNG.uniform(0.2, 0.8, (3, 4))
B = RNG.uniform(-2, 2, (3, 4))
S = RNG.uniform(-1, 1, (4, 4)) + 4 * np.eye(4)
V = RNG.uniform(-1, 1, 4)
N = RNG.integers(-9, 9, (3, 4))
M = RNG.integers(1, 5, (3, 4))
T = RNG.uniform(size=(3, 4)) < 0.5
ARGUMENTS = {"a": A, "b": B, "s": S, "v": V, "n": N, "m": M, "t": T, "q": S @ S.T}

CASES: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda x, name=name: getattr(np, name)(x.a)
        for name in (
            *("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "exp2", "log2", "log10", "log1p", "expm1", "cbrt"),
            *("sinh", "cosh", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "rint", "reciprocal", "sign"),
            *("floor", "ceil", "trunc", "negative", "absolute", "square", "positive", "degrees", "radians", "fabs"),
            *("isnan", "isinf", "isfinite", "sum", "prod", "mean", "max", "min", "var", "std", "any", "all"),
            *("ravel", "transpose", "argmax", "argmin", "sort", "argsort", "cumsum", "flip"),
        )
        if hasattr(np, name)
    },
    "arccosh": lambda x: np.arccosh(x.a + 1),
    **{
        f"{name} of two": lambda x, name=name: getattr(np, name)(x.b, x.a)
        for name in (
            *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "minimum"),
            *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "hypot", "arctan2", "copysign"),
            *("logaddexp", "nextafter"),
        )
    },
    **{
        f"{name} of integers": lambda x, name=name: getattr(np, name)(x.n, x.m)
        for name in (
            *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "bitwise_and"),
            *("bitwise_or", "bitwise_xor", "left_shift", "right_shift", "less", "equal"),
        )
    },
    "invert": lambda x: (~x.n, ~x.t, np.invert(x.t)),
    "logical": lambda x: (np.logical_and(x.n, x.t), np.logical_or(x.t, x.n), np.logical_xor(x.t, x.n > 0)),
    "not": lambda x: np.logical_not(x.n),
    "bitwise_count": lambda x: np.bitwise_count(x.n),
    "operators": lambda x: (x.b // x.a, x.b % x.a, -x.b, abs(x.b), x.a**3, 2**x.a, x.n % 3, 7 // x.m, x.t | (x.n > 0)),
    "divmod": lambda x: np.divmod(x.b, x.a),
    "shifts": lambda x: (x.n << 2, x.n >> 1, x.n & 3, x.n ^ x.m),
    "promotion": lambda x: (x.n + x.a, x.n * 0.5, x.t + x.n, x.n / x.m, x.t * x.a, np.exp(x.m), np.mean(x.n)),
    "reductions": lambda x: (
        x.a.sum(axis=-1, keepdims=True),
        x.b.max(axis=0),
        np.amin(x.b, axis=(0, 1)),
        x.a.mean(axis=(0,)),
        x.a.var(axis=1, ddof=1),
        np.std(x.a, axis=0, keepdims=True),
        np.count_nonzero(x.n, axis=1),
        np.any(x.t, axis=0),
        np.all(x.t, axis=1),
        np.add.reduce(x.a, axis=1),
        np.average(x.a, axis=1, weights=x.v**2),
        x.n.sum(),
        x.a.prod(axis=1),
    ),
    "choices": lambda x: (
        np.where(x.t, x.a, x.b),
        np.where(x.b > 0, x.b, 0),
        np.clip(x.b, -1, 0.5),
        x.b.clip(-1, None),
    ),
    "rounding": lambda x: (np.round(x.b, 2), x.b.round(), np.around(x.b * 3)),
    "shapes": lambda x: (
        x.a.reshape(2, 6),
        np.reshape(x.a, (-1, 3)),
        x.a.T,
        x.a.transpose(1, 0),
        np.swapaxes(x.a, 0, 1),
        np.moveaxis(x.a[None], 0, -1),
        np.squeeze(x.a[:, None]),
        np.expand_dims(x.a, (0, 2)),
        np.broadcast_to(x.v, (2, 4)),
        x.a.ravel(),
        x.a.flatten(),
        np.atleast_2d(x.v),
    ),
    "joined": lambda x: (
        np.concatenate([x.a, x.b], axis=1),
        np.concatenate([x.a, x.v], axis=None),
        np.stack([x.a, x.b], axis=-1),
        np.vstack([x.v, x.a]),
        np.hstack([x.a, x.b]),
        np.split(x.a, 2, axis=1),
        np.split(x.v, [1, 3]),
    ),
    "moved": lambda x: (np.flip(x.a, 1), np.roll(x.a, 1, axis=1), np.roll(x.a, -5), np.tile(x.v, (2, 2)), x.a[::-1]),
    "repeated": lambda x: (np.repeat(x.a, 3, axis=1), x.v.repeat(2)),
    "indexed": lambda x: (x.a[::2], x.a[1], x.a[:, [3, 0]], x.a[..., -1], x.a[0, 1:3], np.take(x.a, [1, 1], axis=0)),
    "padded": lambda x: np.pad(x.a, ((1, 0), (2, 1))),
    "triangles": lambda x: (np.tril(x.s), np.triu(x.s, 1), np.trace(x.s), np.diagonal(x.s, 1)),
    "products": lambda x: (
        x.a @ x.s,
        np.dot(x.v, x.v),
        np.inner(x.a, x.b),
        np.outer(x.v, x.v),
        np.vdot(x.v, x.v),
        np.tensordot(x.a, x.b, axes=([1], [1])),
        np.einsum("ij,kj->ik", x.a, x.b),
        x.v @ x.s,
        x.s @ x.v,
    ),
    "differences": lambda x: (np.diff(x.a, axis=0), np.cumsum(x.a, axis=1), np.cumprod(x.a, axis=1), np.cumprod(x.a)),
    "sorted": lambda x: (np.sort(x.b, axis=0), np.argsort(x.b, axis=1), np.argmax(x.b, axis=1), x.b.argmin()),
    "norms": lambda x: (np.linalg.norm(x.b), np.linalg.norm(x.b, axis=1), np.linalg.norm(x.v, 1)),
    "linear algebra": lambda x: (
        np.linalg.solve(x.s, x.v),
        np.linalg.inv(x.s),
        np.linalg.det(x.s),
        np.linalg.slogdet(x.s)[1],
        np.linalg.cholesky(x.q),
        np.linalg.eigh(x.q)[0],
        np.abs(np.linalg.qr(x.s)[1]),
    ),
    "methods": lambda x: (
        x.a.copy(),
        x.b.argsort(axis=0),
        x.b.argsort(),
        x.a.cumprod(axis=1),
        x.s.diagonal(1),
        x.s.trace(),
        x.a.real,
        x.a.imag,
        (x.a * 1j).imag,
        (x.a * 1j).conj(),
        x.n.conjugate(),
    ),
    "conversions": lambda x: (
        x.b.astype(int),
        x.n.astype(float),
        x.t.astype(bool),
        x.a.astype(complex),
        np.sum(x.n, dtype=float),
    ),
    "like": lambda x: (np.zeros_like(x.a), np.ones_like(x.n), np.full_like(x.a, 2.5)),
    "properties": lambda x: (np.shape(x.a)[0] * x.a, x.a * x.a.ndim, x.a * x.a.size, np.size(x.a) + x.n),
    "with arrays": lambda x: (A + x.b, np.add(x.a, B), B @ x.s, np.maximum(N, x.a)),
}


class Named:
    """Attributes for keys."""

    def __init__(self, values: dict[str, Any]):
        vars(self).update(values)


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    """All cases in one program."""

    def everything(given: dict[str, Any]) -> dict[str, Any]:
        return {name: case(Named(given)) for name, case in CASES.items()}

    return rlx.compile(everything)(ARGUMENTS)


@pytest.mark.parametrize("name", CASES)
def test_what_numpy_gives(name: str, computed: dict[str, Any]):
    with np.errstate(all="ignore"):
        expected = CASES[name](Named(ARGUMENTS))
    several = isinstance(expected, tuple | list) and not isinstance(expected, np.ndarray)
    ones, others = (list(x) if several else [x] for x in (computed[name], expected))
    assert len(ones) == len(others)
    for number, (found, wanted) in enumerate(zip(ones, others, strict=True)):
        if isinstance(wanted, list):
            found, wanted = np.concatenate(found), np.concatenate(wanted)
        wanted = np.asarray(wanted)
        assert found.shape == wanted.shape, number
        assert found.dtype.kind == wanted.dtype.kind, (number, found.dtype, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13, err_msg=str(number))


def test_every_row_names_a_method_that_there_is():
    for name, (method, _) in UFUNCS.items():
        assert callable(method) or hasattr(MirBuilder, method), f"np.{name} is to be {method}"
        assert hasattr(np, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_parameters_of_a_row_are_numpy_s(name: str):
    taken = inspect.signature(attrgetter(name)(np)).parameters
    every = inspect.signature(FUNCTIONS[name]).parameters.values()
    given = [one.name for one in every if one.kind == one.POSITIONAL_OR_KEYWORD]
    assert given == [*taken][: len(given)]


REDUCTIONS = ("sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_method_of_values_takes_what_the_function_takes(name: str):
    _, *ours = inspect.signature(getattr(rlx.Value, name)).parameters.values()
    _, *theirs = inspect.signature(FUNCTIONS[name]).parameters.values()
    assert ours == theirs
    taken = inspect.signature(getattr(np, name)).parameters
    assert [one.name for one in ours] == [*taken][1 : len(ours) + 1]
    assert getattr(rlx.Value, name).__name__ == name and getattr(rlx.Value, name).__doc__.startswith("Return ")


def energy(np_: Any, p: Any) -> Any:
    """Plain NumPy code with a bit of everything."""
    h = np_.tanh(np_.dot(p["x"], p["w"]) + p["b"])
    h = np_.concatenate([h, np_.square(h[:, ::-1])], axis=1)
    z = h - np_.max(h, axis=1, keepdims=True)
    logs = z - np_.log(np_.sum(np_.exp(z), axis=1, keepdims=True))
    cost = -np_.mean(logs[np.arange(3), 0] if np_ is np and not isinstance(logs, rlx.Value) else logs[:, 0])
    return cost + 1e-2 * np_.sum(np_.where(p["w"] > 0, p["w"], 0.1 * p["w"]) ** 2) + np_.linalg.norm(p["b"])


def test_plain_code_is_differentiated_as_it_is():
    p = {"x": RNG.standard_normal((3, 4)), "w": RNG.standard_normal((4, 5)), "b": RNG.standard_normal(5)}
    value, grads = rlx.value_and_grad(lambda p: energy(np, p))(p)
    np.testing.assert_allclose(value, energy(np, p), rtol=1e-12)
    expected = jax.grad(lambda p: energy(jnp, p))(p)
    for name, g in grads.items():
        np.testing.assert_allclose(g, expected[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.unique(x), r"np\.unique does not support .* np\.where\(mask, x, 0\) keeps the shape"),
        (lambda x: np.spacing(x), r"np\.spacing does not support traced"),
        (lambda x: np.linalg.eig(x.reshape(1, 3)), r"np\.linalg\.eig does not support traced"),
        (lambda x: np.exp(x, out=np.zeros(3)), r"np\.exp of a traced value does not support out="),
        (lambda x: np.split(x, 2), "split"),
        (lambda x: np.squeeze(x, 0), "squeeze"),
        (lambda x: np.pad(x, 1, "mean"), r"np\.pad with mode 'mean'"),
        (lambda x: np.linalg.svd(x.reshape(1, 3)), "full_matrices=False"),
        (lambda x: np.linalg.qr(x.reshape(1, 3), "complete"), "'reduced'"),
        (lambda x: x.astype("bf16") + x.astype("float16"), "no common element type"),
        (lambda x: np.where(x > 0), r"the shape of the result depends on concrete values; np\.where\(mask, x, y\)"),
        (lambda x: x.__setitem__(0, 1.0), r"are immutable: instead of x\[i\] = y, write x = x\.at"),
        (lambda x: x.fill(0), r"no attribute 'fill': .* are immutable; np\.full_like"),
        (lambda x: x.tolist(), "no attribute 'tolist': it has no concrete value yet"),
        (lambda x: x + None, "expected a value, a number, an array or a list of these, got None"),
    ],
)
def test_what_has_no_meaning_is_said_by_name(function: Callable[..., Any], message: str):
    with pytest.raises(rlx.RlxError, match=message):
        rlx.compile(function)(np.ones(3))


def test_element_types_that_numpy_widens():
    x, n = np.ones(3, np.float32), np.ones(3, np.int32)
    found = rlx.compile(lambda x, n: (x * 0.1, x + np.float64(0.5), x + n, n / 2, n * 2, x * np.ones(3)))(x, n)
    assert [a.dtype.name for a in found] == ["float32", "float32", "float64", "float64", "int32", "float32"]
