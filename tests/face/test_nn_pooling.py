"""Pooling beside windows that JAX slices one tap at a time."""

from functools import partial
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn

RNG = np.random.default_rng(0)
LINE, PLANE, SPACE = RNG.normal(size=(2, 3, 11)), RNG.normal(size=(2, 2, 7, 9)), RNG.normal(size=(1, 2, 5, 6, 4))
FLAT = np.arange(LINE.size).reshape(LINE.shape)[0]
EMPTY = np.zeros((0, 3, 7, 9))


def _taps(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, filler: float) -> Any:
    """The elements of all windows, `[taps, N, C, ...]`."""
    axes = np.ndim(x) - 2
    kernel, stride, padding, dilation = (
        (one,) * axes if isinstance(one, int) else one for one in (kernel, stride or kernel, padding, dilation)
    )
    counts, after = [], []
    for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True):
        free = n + 2 * p - d * (k - 1) - 1
        count = (-(-free // s) if ceil else free // s) + 1
        count -= ceil and (count - 1) * s >= n + p
        counts.append(count)
        after.append(max(0, (count - 1) * s + d * (k - 1) + 1 - n - p))
    widths = [(0, 0), (0, 0), *zip(padding, after, strict=True)]
    x = jnp.pad(x, widths, constant_values=filler)
    found = []
    for tap in product(*map(range, kernel)):
        at = zip(tap, stride, dilation, counts, strict=True)
        found.append(x[(..., *(slice(t * d, t * d + (count - 1) * s + 1, s) for t, s, d, count in at))])
    return jnp.stack(found)


def _max(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil: bool = False) -> Any:
    return jnp.max(_taps(x, kernel, stride, padding, dilation, ceil, -jnp.inf), 0)


def _mean(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, ceil: bool = False, include: bool = True) -> Any:
    sizes = (padding,) * (np.ndim(x) - 2) if isinstance(padding, int) else padding
    counted = np.ones(x.shape)
    if include:
        counted = np.pad(counted, [(0, 0), (0, 0), *((p, p) for p in sizes)], constant_values=1)
        counts = _taps(counted, kernel, stride or kernel, 0, 1, ceil, 0.0)
    else:
        counts = _taps(counted, kernel, stride, padding, 1, ceil, 0.0)
    return jnp.sum(_taps(x, kernel, stride, padding, 1, ceil, 0.0), 0) / jnp.sum(counts, 0)


def _adaptive(x: Any, sizes: Any, reduce: Any) -> Any:
    for axis, m in enumerate(sizes, 2):
        n = x.shape[axis]
        bins = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
        x = jnp.stack([reduce(jnp.take(x, np.arange(*one), axis), axis) for one in bins], axis)
    return x


def _pair(name: str, ours: Any, theirs: Any, x: Any, *arguments: Any, **options: Any) -> Row:
    return Row(
        name,
        partial(ours, **options) if not arguments else lambda x: ours(x, *arguments, **options),
        lambda x: theirs(x, *arguments, **{k.split("_")[0].replace("count", "include"): v for k, v in options.items()}),
        [x],
    )


FAMILY = Family(
    [
        _pair("max-1d", nn.max_pool, _max, LINE, 3, 2, 1),
        _pair("max-1d-dilation", nn.max_pool, _max, LINE, 3, 2, 1, 2),
        _pair("max-2d", nn.max_pool, _max, PLANE, (2, 3)),
        _pair("max-2d-ceil", nn.max_pool, _max, PLANE, (2, 3), (2, 2), (1, 0), 1, True),
        _pair("max-2d-gaps", nn.max_pool, _max, PLANE, 2, 3, 1, 1, True),
        _pair("max-2d-dilation", nn.max_pool, _max, PLANE, 2, (1, 2), 1, (1, 3)),
        _pair("max-3d", nn.max_pool, _max, SPACE, 2),
        _pair("max-3d-ceil", nn.max_pool, _max, SPACE, (2, 3, 2), (2, 2, 1), 1, 1, True),
        _pair("avg-1d", nn.avg_pool, _mean, LINE, 4, 3, 1),
        _pair("avg-1d-ceil", nn.avg_pool, _mean, LINE, 4, 3, 2, True),
        _pair("avg-2d-without-padding", nn.avg_pool, _mean, PLANE, 3, 2, 1, False, False),
        _pair("avg-2d-ceil", nn.avg_pool, _mean, PLANE, (3, 2), 2, (1, 0), True, False),
        _pair("avg-3d", nn.avg_pool, _mean, SPACE, (2, 3, 1), 1, (1, 1, 0)),
        Row("avg-divisor", lambda x: nn.avg_pool(x, 3, divisor_override=2), lambda x: _mean(x, 3) * 1.5, [LINE]),
        Row("lp", lambda x: nn.lp_pool(x, 2, 2, ceil_mode=True),
            lambda x: jnp.sqrt(jnp.sum(_taps(x, 2, None, 0, 1, True, 0.0) ** 2, 0)), [PLANE], half=3e-2),
        Row("lp-3", lambda x: nn.lp_pool(abs(x), 3.0, 3, 2),
            lambda x: jnp.sum(_taps(abs(x), 3, 2, 0, 1, False, 0.0) ** 3, 0) ** (1 / 3), [LINE], half=3e-2),
        Row("adaptive-avg", lambda x: nn.adaptive_avg_pool(x, (3, 4)),
            partial(_adaptive, sizes=(3, 4), reduce=jnp.mean), [PLANE]),
        Row("adaptive-avg-3d", lambda x: nn.adaptive_avg_pool(x, (5, 3, 1)),
            partial(_adaptive, sizes=(5, 3, 1), reduce=jnp.mean), [SPACE]),
        Row("adaptive-avg-keep", lambda x: nn.adaptive_avg_pool(x, (None, 20)),
            partial(_adaptive, sizes=(7, 20), reduce=jnp.mean), [PLANE]),
        Row("adaptive-max", lambda x: nn.adaptive_max_pool(x, (3, 4)), partial(_adaptive, sizes=(3, 4), reduce=jnp.max),
            [PLANE]),
        Row("adaptive-max-1", lambda x: nn.adaptive_max_pool(x, 1), lambda x: jnp.max(x, (2, 3), keepdims=True),
            [PLANE]),
        Row("global-avg", nn.global_avg_pool, lambda x: jnp.mean(x, (2, 3)), [PLANE]),
        Row("global-max", partial(nn.global_max_pool, keepdims=True), lambda x: jnp.max(x, (2, 3, 4), keepdims=True),
            [SPACE]),
        Row("empty", lambda x: (nn.max_pool(x, 2), nn.avg_pool(x, 2, padding=1, ceil_mode=True)),
            lambda x: (jnp.zeros((0, 3, 3, 4)), jnp.zeros((0, 3, 4, 5))), [EMPTY], orders=0, half=0),
        Row("unpool", lambda x: nn.max_unpool(x, np.array([[1, 4, 9]] * 3), (11,)),
            lambda x: jnp.zeros((3, 11)).at[:, np.array([1, 4, 9])].add(x), [LINE[0, :, :3]]),
    ]
)  # fmt: skip


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_pool_is_that_of_its_windows(name: str) -> None:
    FAMILY.check(name)


def test_indices_point_at_the_first_largest_element() -> None:
    """The gradient goes to the same element, also among equal ones and NaN, in three axes as in one."""
    plane, space = (RNG.integers(0, 3, size=shape) * 1.0 for shape in ((2, 1, 6, 7), (1, 2, 4, 4, 3)))
    plane[0, 0, 2, 3] = np.nan

    def program(plane: Any, space: Any) -> Any:
        calls = {
            "plain": (lambda x: nn.max_pool(x, 2, return_indices=True), lambda x: nn.max_pool(x, 2), plane),
            "ceil": (
                lambda x: nn.max_pool(x, 3, 2, 1, 1, True, True), lambda x: nn.max_pool(x, 3, 2, 1, 1, True), plane,
            ),
            "space": (lambda x: nn.max_pool(x, 2, 1, return_indices=True), lambda x: nn.max_pool(x, 2, 1), space),
            "adaptive": (
                lambda x: nn.adaptive_max_pool(x, (4, 5), True), lambda x: nn.adaptive_max_pool(x, (4, 5)), plane,
            ),
        }  # fmt: skip
        return {
            name: (
                *both(x),
                alone(x),
                rlx.grad(lambda x, alone=alone: alone(x).sum())(x),
            )
            for name, (both, alone, x) in calls.items()
        }

    for name, (y, index, alone, gradient) in rlx.compile(program)(plane, space).items():
        x = space if name == "space" else plane
        flat, at = x.reshape(*x.shape[:2], -1), index.reshape(*x.shape[:2], -1)
        picked = np.take_along_axis(flat, at, -1)
        np.testing.assert_array_equal(picked, y.reshape(picked.shape), err_msg=name)
        np.testing.assert_array_equal(y, alone, err_msg=name)
        counts = np.zeros(flat.shape)
        for n, c in product(*map(range, x.shape[:2])):
            np.add.at(counts[n, c], at[n, c], 1)
        assert ((gradient.reshape(counts.shape) != 0) == (counts > 0)).all(), name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.max_pool(LINE, 2, padding=2), "padding: expected at most half of kernel_size"),
        (lambda: nn.max_pool(LINE, 12), "do not fit an image of"),
        (lambda: nn.avg_pool(LINE, (2, 2, 2)), "x: expected"),
        (lambda: nn.avg_pool(PLANE, (2, 0)), "kernel_size: expected an integer of at least 1, or 2 of them"),
        (lambda: nn.adaptive_avg_pool(PLANE, (2, 0)), "output_size: expected an integer of at least 1"),
        (lambda: nn.max_unpool(LINE, FLAT, (5,)), "indices: expected the shape of x"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
