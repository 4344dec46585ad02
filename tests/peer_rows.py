"""Functions beside their counterparts in JAX or SciPy: values, gradients, second derivatives, precisions, batches.

What the rows of a family compute in f64 is one program, compiled once. Other element types and batches are evaluated by
the oracle, since the loops of each op are tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import oracle
from levels import EVERY
from numerics import jaxpr

import xdsl_rlx as rlx
from xdsl_rlx.binding import parameters_of
from xdsl_rlx.tracing import traced

Array = np.ndarray[Any, Any]
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
BATCH = 2


@dataclass(frozen=True)
class Row:
    """A call of one of our functions and of its counterpart, which gets JAX arrays."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arrays: Sequence[Array]
    """Arguments, in f64 where they are real numbers."""
    wrt: Sequence[int] = (0,)
    """Numbers of the arguments to differentiate by."""
    orders: int = 2
    """Of derivatives that the counterpart has: 0, 1 or 2. With 0 it may be a function of NumPy arrays."""
    f64: float = 1e-11
    """Relative tolerance; ten times as much for each order of derivatives."""
    f32: float = 2e-5
    half: float = 2e-2
    """Relative tolerance in f16 and bf16; 0 for a function that has no such form."""
    batched: bool = True
    """Whether `vmap` of it is tried."""


@dataclass
class Family:
    """The rows of a module, and what the program of all in f64 gave."""

    rows: Sequence[Row]

    def __post_init__(self) -> None:
        assert len(set(self.names)) == len(self.names), "two rows of one name"

    @property
    def names(self) -> list[str]:
        """The names of the rows, as parameters of tests."""
        return [row.name for row in self.rows]

    def check(self, name: str) -> None:
        """Compare one row with its counterpart: compiled in f64, its graph in f32 and halves, and a batch of it."""
        try:
            self._check(name)
        except AssertionError:
            self.__dict__.pop("_compiled_values", None)  # a test that is run again shall compute anew
            raise

    def _check(self, name: str) -> None:
        row = next(row for row in self.rows if row.name == name)
        expected = _expected(row)
        for order, (ours, theirs) in enumerate(zip(self._compiled_values[name], expected, strict=True)):
            _close(_leaves(ours), _leaves(theirs), row.f64 * 10**order, f"derivative {order}")
        values = _leaves(expected[0])
        for dtype, near in ((np.dtype(np.float32), row.f32), *((half, row.half) for half in self._halves(row))):
            ours = _evaluated(row.ours, [x.astype(dtype) if x.dtype == np.float64 else x for x in row.arrays])
            for one, exact in zip(ours, values, strict=True):
                wanted = dtype if exact.dtype == np.float64 else exact.dtype
                assert one.dtype == wanted, f"{one.dtype}, expected {wanted}"
            _close(ours, values, near, dtype.name)
        if row.batched:
            ours = _evaluated(rlx.vmap(row.ours), [np.stack([x] * BATCH) for x in row.arrays])
            _close(ours, [np.stack([leaf] * BATCH) for leaf in values], row.f64, "vmap")

    def _halves(self, row: Row) -> Sequence[np.dtype[Any]]:
        """The half precisions to try a row in: by turns one of them, with EVERY_SAMPLE both."""
        if not row.half:
            return ()
        return HALVES if EVERY else (HALVES[self.names.index(row.name) % 2],)

    @cached_property
    def _program(self) -> Callable[..., Any]:
        """Values and derivatives of all rows, as one program."""

        def program(given: dict[str, Any]) -> dict[str, Any]:
            return {row.name: _values(row, row.ours, given[row.name], rlx) for row in self.rows}

        return rlx.compile(program)

    @cached_property
    def _compiled_values(self) -> dict[str, Any]:
        return self._program({row.name: list(row.arrays) for row in self.rows})


def _evaluated(function: Callable[..., Any], arrays: Sequence[Array]) -> list[Array]:
    return list(oracle.evaluate(rlx.lower_hir(rlx.trace(function, *arrays)).module, *arrays))


def evaluated(function: Callable[..., Any], *arrays: Any) -> Any:
    """The tree of results of a function of arrays, its graph evaluated by the oracle: it is differentiated no more."""
    parameters = parameters_of(function)
    made = traced(parameters, parameters.bind(arrays, {}), "evaluated", modes=())
    operands = [leaf for one in made.arguments for leaf, name in zip(one.leaves, one.inputs, strict=True) if name]
    return made.unflatten(list(oracle.evaluate(rlx.lower_hir(made.graph).module, *operands)))


def _values(row: Row, function: Callable[..., Any], arguments: Sequence[Any], module: Any) -> list[Any]:
    """The value, the gradient of a weighted sum of it, and the derivative of the gradient along a direction."""
    found, wrt = [function(*arguments)], tuple(row.wrt)
    if wrt and row.orders:

        def slopes(*xs: Any) -> Any:
            full = list(arguments)
            for i, x in zip(wrt, xs, strict=True):
                full[i] = x
            return module.grad(lambda *all: _weighted(function(*all)), argnums=wrt)(*full)

        chosen = [arguments[i] for i in wrt]
        if row.orders == 1:
            found.append(slopes(*chosen))
        else:
            moved = [np.cos(np.arange(row.arrays[i].size, dtype=np.float64)).reshape(row.arrays[i].shape) for i in wrt]
            # the gradient and its derivative from one graph, which takes half as long to trace
            found += jax.jvp(slopes, tuple(chosen), tuple(moved)) if module is jax else rlx.jvp(slopes)(chosen, moved)
    return found


def _weighted(result: Any) -> Any:
    """A number that depends on each floating-point element of a result in its own way."""
    total: Any = 0.0
    for leaf in rlx.tree.flatten(result)[0]:
        if str(leaf.dtype) in ("f64", "float64"):
            total = total + (leaf * np.sin(1.0 + np.arange(int(np.prod(leaf.shape)))).reshape(leaf.shape)).sum()
    return total


def _expected(row: Row) -> list[Any]:
    """What the counterpart gives; traced by JAX and run by NumPy, since XLA would compile each for one call."""
    if not row.orders:
        return [row.theirs(*row.arrays)]
    trees: list[Any] = []

    def function(*xs: Any) -> list[Any]:
        values = _values(row, row.theirs, xs, jax)
        trees.append(jax.tree.structure(values))
        return jax.tree.leaves(values)

    found = jaxpr.evaluate(function, *(jnp.asarray(x) for x in row.arrays))
    return jax.tree.unflatten(trees[0], found)


def _leaves(result: Any) -> list[Array]:
    return [np.asarray(leaf) for leaf in rlx.tree.flatten(result)[0]]


def _close(ours: Sequence[Array], theirs: Sequence[Array], near: float, what: str) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape, f"{what}: {one.shape}, expected {other.shape}"
        one, other = (x if x.dtype.kind in "biuc" else x.astype(np.float64) for x in (one, other))
        size = max(1.0, float(np.abs(other[np.isfinite(other)]).max(initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=near, atol=near * size, err_msg=what)
