"""Optimisers on gradients that are zero, tiny or huge, in every element type, against optax or formulas in f64; sums of
gradients over several steps; and gradients of other shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import ml_dtypes
import numpy as np
import optax
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import optim
from xdsl_rlx import tree as trees

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(3)
PARAMS = {"w": RNG.standard_normal((6, 4)), "b": RNG.standard_normal(4)}
RATE, STEPS = 1e-2, 4


class Adafactor:
    """That of PyTorch's documentation, with the face of optax."""

    def init(self, params: Any) -> Any:
        return 0, dict.fromkeys(params, 0.0), dict.fromkeys(params, 0.0)

    def update(self, grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
        step, rows, columns = state[0] + 1, {}, {}
        eps, new, moves = float(np.finfo(np.float32).eps), step**-0.8, {}
        for name, g in grads.items():
            p, squares = params[name], g * g
            rows[name] = state[1][name] + new * (
                (squares if g.ndim < 2 else squares.mean(-1, keepdims=True)) - state[1][name]
            )
            second = rows[name]
            if g.ndim == 2:
                columns[name] = state[2][name] + new * (squares.mean(-2, keepdims=True) - state[2][name])
                second = rows[name] / max(rows[name].mean(), eps) @ columns[name]
            u = g / np.sqrt(np.maximum(second, eps * eps))
            alpha = max(1e-3, np.sqrt((p * p).mean())) * min(RATE, step**-0.5)
            moves[name] = -alpha / max(1.0, np.sqrt((u * u).mean())) * u
        return moves, (step, rows, {**dict.fromkeys(params, 0.0), **columns})


OPTIMISERS: dict[str, tuple[optim.Optimiser, Callable[[], Any]]] = {
    "sgd": (optim.SGD(RATE, 0.9), lambda: optax.sgd(RATE, 0.9)),
    "adam": (optim.Adam(RATE), lambda: optax.adam(RATE)),
    "nadam": (optim.Adam(RATE, nesterov=True), lambda: optax.nadam(RATE)),
    "adamw": (optim.AdamW(RATE, weight_decay=0.1), lambda: optax.adamw(RATE, weight_decay=0.1)),
    "clipped": (
        optim.Adam(optim.linear(RATE, 0.0, 9), clip_norm=0.5),
        lambda: optax.chain(optax.clip_by_global_norm(0.5), optax.adam(optax.linear_schedule(RATE, 0.0, 9))),
    ),
    "lion": (optim.Lion(RATE, weight_decay=0.1), lambda: optax.lion(RATE, weight_decay=0.1)),
    "adafactor": (optim.Adafactor(RATE), Adafactor),
    "muon": (optim.Muon(RATE), lambda: optax.contrib.muon(RATE)),
}


@cache
def other(name: str) -> tuple[Any, Any]:
    """`init` and `update` of what an optimiser is compared with."""
    made = OPTIMISERS[name][1]()
    return made.init, made.update if name == "adafactor" else jax.jit(made.update)


DTYPES = {
    "f16": (np.float16, 6e-8, 6e4),
    "bf16": (ml_dtypes.bfloat16, 1e-30, 1e18),
    "f32": (np.float32, 1e-30, 1e18),
    "f64": (np.float64, 1e-300, 1e150),
}
"""With the smallest and the largest gradient."""


def as_type(tree: Any, dtype: Any) -> Any:
    return trees.map(lambda a: np.asarray(a).astype(dtype), tree)


@pytest.mark.parametrize("name", DTYPES)
def test_special_gradients_move_parameters_as_in_f64(name: str):
    dtype, tiny, huge = DTYPES[name]
    every = {key: one for key, (one, _) in OPTIMISERS.items()}

    @rlx.compile
    def step(grads: Any, states: Any, params: Any) -> Any:
        return {key: one.update(grads, states[key], params[key]) for key, one in every.items()}

    signs = {key: np.sign(RNG.standard_normal(p.shape)) for key, p in PARAMS.items()}
    for sizes in ((0.0,) * STEPS, (tiny,) * STEPS, (huge,) * STEPS, (0.0, 1.0, tiny, 0.0), (huge, 0.0, 1.0, huge)):
        start = as_type(PARAMS, dtype)
        params, states = dict.fromkeys(every, start), {key: one.init(start) for key, one in every.items()}
        wide = {key: as_type(start, np.float64) for key in every}
        kept = {key: other(key)[0](wide[key]) for key in every}
        for size in sizes:
            grads = as_type(trees.map(lambda s, size=size: s * size, signs), dtype)
            moved = step(grads, states, params)
            for key in every:
                params[key], states[key] = moved[key]
                moves, kept[key] = other(key)[1](as_type(grads, np.float64), kept[key], wide[key])
                for leaf, found in params[key].items():
                    exact = wide[key][leaf] + np.asarray(moves[leaf])
                    # half precision is rounded where it is stored
                    wide[key][leaf] = exact.astype(dtype).astype(np.float64)
                    assert found.dtype == dtype, (key, leaf)
                    eps = float(ml_dtypes.finfo(dtype).eps)
                    error = np.abs(found.astype(np.float64) - exact)
                    limit = 2 * eps * np.abs(exact) + (1e-9 if name == "f64" else 2e-6)
                    assert (error <= limit).all(), (key, leaf, sizes, float(error.max()))
                    # what differs by a rounding goes on from the same numbers
                    params[key] = as_type(wide[key], dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_sum_over_steps_is_one_update_with_the_mean(dtype: Any):
    """With rates that change by the update and norms that are bounded, inside of `Accumulated` and by it."""
    every = {key: one for key, (one, _) in OPTIMISERS.items()}
    rate, k = optim.linear(0.05, 0.0, 5), 3
    summed = {
        **{key: optim.Accumulated(one, k) for key, one in every.items()},
        **{f"{key} by": optim.Accumulated(one, k, rate, clip_norm=0.5) for key, one in every.items()},
    }

    @rlx.compile
    def micro(grads: Any, states: Any, params: Any) -> Any:
        return {key: one.update(grads, states[key], params[key]) for key, one in summed.items()}

    def with_rate(one: Any) -> optim.Optimiser:
        fields = {name: value for name, value in vars(one).items() if name not in ("learning_rate", "clip_norm")}
        return type(one)(learning_rate=rate, clip_norm=0.5, **fields)

    whole = {**every, **{f"{key} by": with_rate(one) for key, one in every.items()}}
    start = as_type(PARAMS, dtype)
    params, states = dict.fromkeys(summed, start), {key: one.init(start) for key, one in summed.items()}
    expected, kept = dict.fromkeys(summed, start), {key: one.init(start) for key, one in whole.items()}
    for _ in range(2):
        given = [as_type({n: RNG.standard_normal(p.shape) for n, p in PARAMS.items()}, dtype) for _ in range(k)]
        for grads in given:
            before = params
            moved = micro(grads, states, params)
            params, states = ({key: one[n] for key, one in moved.items()} for n in range(2))
        assert all(np.array_equal(before[key]["w"], expected[key]["w"]) for key in every)
        mean = trees.map(lambda *g: sum(one.astype(np.float32) for one in g) / np.float32(k), *given)
        for key, one in whole.items():
            # bounded twice, where the optimiser bounds the norm itself
            bounded = optim.clip_by_global_norm(mean, 0.5) if key.endswith("by") else mean
            expected[key], kept[key] = one.update(bounded, kept[key], expected[key])
            for name in PARAMS:
                found, wanted = params[key][name], expected[key][name]
                assert found.dtype == dtype and (found != start[name]).any()
                tolerance = 4 * float(np.finfo(dtype).eps) * np.abs(wanted).max() + 2e-6
                np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance, err_msg=key)
            expected[key] = params[key]


def test_a_gradient_that_is_not_a_number_spoils_one_sum():
    one = optim.Accumulated(optim.SGD(1.0), 2)
    params = {"w": np.zeros(2)}
    step = rlx.compile(one.update)
    state = one.init(params)
    for value in (np.nan, 1.0):
        _, state = step({"w": np.full(2, value)}, state, params)
    for _ in range(2):
        params, state = step({"w": np.full(2, 3.0)}, state, params)
    np.testing.assert_array_equal(params["w"], [-3.0, -3.0])
    for wrong in (0, 2.5, True):
        with pytest.raises(rlx.GraphError, match="every: expected an integer of at least 1"):
            optim.Accumulated(optim.SGD(1.0), wrong)  # pyright: ignore


@pytest.mark.parametrize("name", [*OPTIMISERS, "accumulated"])
def test_gradients_and_states_have_the_shapes_of_the_parameters(name: str):
    one = optim.Accumulated(optim.Adam(RATE), 2) if name == "accumulated" else OPTIMISERS[name][0]
    params = {"w": np.zeros((3, 1)), "b": np.zeros(3)}
    state = one.init(params)

    def raises(grads: Any, state: Any, params: Any, message: str) -> None:
        for update in (one.update, rlx.compile(one.update)):
            with pytest.raises(rlx.GraphError, match=message):
                update(grads, state, params)

    # (3, 1) - (3,) is (3, 3)
    wrong = {"w": np.zeros(3), "b": np.zeros(3)}
    raises(wrong, state, params, r"update: grads\['w'\]: expected shape \[3, 1\], as params\['w'\], got \[3\]")
    raises({"w": np.zeros((3, 1))}, state, params, r"the tree structure of params, got one that lacks \['b'\]")
    integers = {**params, "b": np.zeros(3, np.int64)}
    raises(integers, state, integers, r"params\['b'\]: expected a floating-point array, got i(nt)?64")
    slot = next((key for key in state if key not in ("step", "inner")), None)
    if slot is not None:
        strange = {**state, slot: one.init({"w": np.zeros((5, 1)), "b": np.zeros(3)})[slot]}
        raises(params, strange, params, rf"state\['{slot}'\]\['w'\]: expected shape \[3, 1\], .* got \[5, 1\]")


def test_averages_and_norms_of_half_precision():
    half = {"w": np.array([6e4, -6e4], np.float16)}
    np.testing.assert_allclose(optim.clip_by_global_norm(half, 1e-3)["w"], [7.07e-4, -7.07e-4], rtol=1e-3)
    assert optim.ema(half, half, 0.999)["w"].dtype == np.float16
    with pytest.raises(rlx.GraphError, match=r"ema: params\['w'\]: expected shape \[2\], as average\['w'\], got \[1\]"):
        optim.ema(half, {"w": np.zeros(1)}, 0.9)
