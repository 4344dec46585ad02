"""`x.at[i]` and `dynamic_slice` beside those of JAX: negative, equal, out-of-range and static indices, and masks."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx

X = np.arange(12.0).reshape(4, 3) + 0.5
AT = np.array([3, -1, 0, 9, -9, 3])
V = np.linspace(-2.0, 9.0, 18).reshape(6, 3)

INDICES: dict[str, Callable[[Any], Any]] = {
    "array": lambda i: i,
    "column": lambda i: (slice(None), i),
    "pair": lambda i: (i, i),
    "apart": lambda i: (i[:2], None, slice(1, 3)),
    "scalar": lambda i: (..., i[2]),
    "slices": lambda i: (slice(None, None, 2), slice(2, 0, -1)),
    "static": lambda i: np.array([1, 1, -1]),
    "mask": lambda i: np.array([True, False, True, False]),
    "empty": lambda i: slice(2, 2),
}


@pytest.mark.parametrize("name", INDICES)
def test_an_update_is_that_of_jax(name: str) -> None:
    index, x = INDICES[name], jnp.asarray(X)
    shape = x[index(jnp.asarray(AT))].shape
    v = np.resize(V, shape)
    kinds = [("set", None), ("set", "clip"), ("add", None), ("multiply", "drop"), ("min", "clip"), ("max", None)]

    def ours(x: Any, i: Any, v: Any) -> list[Any]:
        updated = [getattr(x.at[index(i)], kind)(v, mode=mode) for kind, mode in kinds]
        return [*updated, *(x.at[index(i)].get(mode=mode) for mode in (None, "fill"))]

    found = oracle.evaluate(rlx.trace(ours, X, AT, v).module, X, AT, v)
    at = x.at[index(jnp.asarray(AT))]
    expected = [getattr(at, kind)(v, mode=mode) for kind, mode in kinds] + [at.get(), at.get(mode="fill")]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def _moved(lax: Any) -> Callable[..., Any]:
    def f(x: Any, u: Any, i: Any) -> Any:
        sliced = lax.dynamic_slice(x, (i[0], i[1]), (2, 2))
        return sliced, lax.dynamic_update_slice(x, u[:2, :2], (i[4], i[3])), lax.dynamic_index_in_dim(x, i[1], 1, False)

    return f


FAMILY = Family(
    [
        Row("set", lambda x, v, i: x.at[i].set(v), lambda x, v, i: x.at[i].set(v), [X, V, AT], (0, 1)),
        Row("add", lambda x, v, i: x.at[i].add(v * v), lambda x, v, i: x.at[i].add(v * v), [X, V, AT], (0, 1)),
        Row("dynamic", _moved(rlx), _moved(jax.lax), [X, V, AT], (0, 1)),
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_updates_have_the_derivatives_of_jax(name: str) -> None:
    FAMILY.check(name)


def _mixed(xp: Any, rng: np.random.Generator, scan: Any) -> Callable[..., Any]:
    """A program of updates among ops that read what is updated, before and behind."""
    steps = [(int(rng.integers(7)), rng.random(2)) for _ in range(8)]
    kept = rng.random(len(steps) + 3)

    def f(x: Any, y: Any, i: Any, v: Any) -> Any:
        values = [x, y]
        for kind, at in steps:
            a, b = (values[int(part * len(values))] for part in at)
            match kind:
                case 0:
                    values.append(xp.tanh(a) + b)
                case 1:
                    values.append((a.reshape(-1).at[i + 3].add(v[:, 0])).reshape(a.shape) - b)
                case 2:
                    values.append(a.T.at[:, i].add(v.T).T)
                case 3:
                    values.append(scan(lambda c, k, b=b: (xp.sin(c).at[k].add(b[0]) * 0.5, c[0]), a, i)[0])
                case 4:
                    values.append(xp.concatenate([a[:2].at[i % 3].add(v), b[2:]]))
                case _:
                    values.append((a if kind == 5 else xp.cos(a)).at[i].add(v * b[0]))
        return (*(value for value, part in zip(values, kept, strict=False) if part < 0.5), values[-1])

    return f


@pytest.mark.sampled(most=8)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_added_to_is_changed_nowhere_else(seed: int, threads: int) -> None:
    """An update is made in place where nothing else reads the values, also over donated arguments."""
    x, y = np.sin(X), np.cos(X)
    theirs = _mixed(jnp, np.random.default_rng(seed), jax.lax.scan)(*map(jnp.asarray, (x, y, AT, V)))
    donated = ("x",) if seed % 2 else ()
    f = rlx.compile(_mixed(np, np.random.default_rng(seed), rlx.scan), threads=threads, donate=donated)
    for mine, other in zip(f(x.copy(), y.copy(), AT, V), theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_wrong_updates_are_told() -> None:
    wrong: list[tuple[Callable[[Any], Any], str]] = [
        (lambda x: x.at[9].set(0.0), "index 9 is out of range"),
        (lambda x: x.at[np.array([9])].add(0.0), "index 9 is out of range"),
        (lambda x: x.at[0].set(0.0, mode="wrap"), "mode: expected None or one of"),
        (lambda x: x.at[0].set(np.zeros(2)), "do not broadcast"),
        (lambda x: x.at[x[0] > 0].set(0.0), "a mask of shape"),
        (lambda x: x.__setitem__(0, 1.0), r"instead of x\[i\] = y, write x = x\.at\[i\]\.set\(y\)"),
        (lambda x: rlx.dynamic_slice(x, (0, 0), (5, 1)), "slice_sizes: expected at most the shape"),
        (lambda x: rlx.dynamic_update_slice(x, np.zeros((1, 1)), (0,)), "start_indices: expected an index for each"),
    ]
    for function, message in wrong:
        with pytest.raises(rlx.GraphError, match=message):
            rlx.trace(function, X)
