"""Padding by name and by side, in convolutions and pools, against JAX."""

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((2, 3, 7, 6)), RNG.standard_normal((4, 3, 3, 2))
CASES: list[tuple[Any, Any, int, int]] = [
    ("same", "SAME", 1, 1),
    ("SAME", "SAME", 2, 1),
    ("same", "SAME", 3, 2),
    ("valid", "VALID", 2, 1),
    (((0, 1), (1, 0)), [(0, 1), (1, 0)], 1, 1),
    ((2, (1, 3)), [(2, 2), (1, 3)], 2, 2),
    (np.array([[1, 0], [2, 1]]), [(1, 0), (2, 1)], 1, 1),
]


def test_convolutions_and_their_gradients_are_those_of_jax():
    @rlx.compile
    def ours(x: Any, w: Any) -> Any:
        def every(x: Any, w: Any) -> Any:
            found = [rlx.conv(x, w, stride, padding, dilation) for padding, _, stride, dilation in CASES]
            return sum((y * y).sum() for y in found), found

        return rlx.value_and_grad(every, (0, 1), has_aux=True)(x, w)

    def of_jax(x: Any, w: Any) -> Any:
        found = [
            lax.conv_general_dilated(x, w, (s, s), padding, rhs_dilation=(d, d), precision="highest")
            for _, padding, s, d in CASES
        ]
        return sum((y * y).sum() for y in found), found

    with jax.enable_x64(True):
        (_, expected), grads = jax.jit(jax.value_and_grad(of_jax, (0, 1), has_aux=True))(X, W)
    (_, found), of_ours = ours(X, W)
    for a, b in zip([*found, *of_ours], [*expected, *grads], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_pools_are_those_of_jax():
    cases: list[tuple[Any, Any, int]] = [
        ("same", "SAME", 1),
        ("same", "SAME", 2),
        ("valid", "VALID", 1),
        (((0, 1), (1, 0)), [(0, 1), (1, 0)], 2),
    ]
    kinds = [("max", -np.inf, lax.max), ("min", np.inf, lax.min), ("sum", 0.0, lax.add)]

    @rlx.compile
    def ours(x: Any) -> Any:
        return [
            (*(rlx.pool(x, kind, (3, 2), s, p) for kind, _, _ in kinds), rlx.pool(x, "mean", (3, 2), s, p, include))
            for p, _, s in cases
            for include in (True, False)
        ]

    found = iter(ours(X))
    with jax.enable_x64(True):
        for _, padding, s in cases:
            at = ((1, 1, 3, 2), (1, 1, s, s), padding if isinstance(padding, str) else [(0, 0), (0, 0), *padding])
            *others, total = [lax.reduce_window(X, start, f, *at) for _, start, f in kinds]
            for divisor in (6.0, lax.reduce_window(np.ones_like(X), 0.0, lax.add, *at)):
                for a, b in zip(next(found), [*others, total, total / divisor], strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("padding", "error"),
    [
        ("full", "conv: padding: expected 'same', 'valid' or integers, got 'full'"),
        (((1, 2, 3), 0), r"conv: padding: expected \(before, after\) of at least 0 for an axis, got \(1, 2, 3\)"),
        (((1, -1), 0), "conv: padding: expected .before, after. of at least 0"),
        (((1, 1),), "conv: padding: expected an entry for each of 2 axes, got 1"),
    ],
)
def test_other_paddings_are_errors(padding: Any, error: str):
    with pytest.raises(rlx.GraphError, match=error):
        rlx.conv(X, W, padding=padding)


def test_batch_norm_is_along_the_channels_of_an_image():
    gamma, beta, mean, var = [*RNG.standard_normal((3, 3)).tolist(), [0.5, 1.0, 2.0]]
    found = rlx.batch_norm_inference(X, *map(np.array, (gamma, beta, mean, var)))
    g, b, m, v = (np.array(one)[:, None, None] for one in (gamma, beta, mean, var))
    np.testing.assert_allclose(found, (X - m) / np.sqrt(v + 1e-5) * g + b, rtol=1e-12, atol=1e-12)
