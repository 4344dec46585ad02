"""Optimisers against optax, and Adafactor against PyTorch's formulas: 100 steps, in one program with the gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import optim
from xdsl_rlx import tree as trees
from xdsl_rlx.optim.ranges import FLAGS, RANGES

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((8, 6)), RNG.standard_normal((8, 4))
PARAMS = {"w": RNG.standard_normal((6, 4)), "v": [RNG.standard_normal((4, 4))], "b": RNG.standard_normal(4)}
STEPS = 100


def loss(np_: Any, p: Any, x: Any, y: Any) -> Any:
    return ((np_.tanh(x @ p["w"]) @ p["v"][0] + p["b"] - y) ** 2).mean()


def ours(optimiser: optim.Optimiser, dtype: Any, steps: int = STEPS) -> Any:
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, grads = rlx.value_and_grad(lambda p: loss(np, p, x, y))(params)
        return value, *optimiser.update(grads, state, params)

    params = trees.map(lambda a: a.astype(dtype), PARAMS)
    state = optimiser.init(params)
    run = rlx.compile(step, donate={"params": 1, "state": 2})
    for _ in range(steps):
        _, params, state = run(params, state, X.astype(dtype), Y.astype(dtype))
    assert state["step"] == steps
    return params


def of_optax(optimiser: optax.GradientTransformation, dtype: Any) -> Any:
    params = jax.tree_util.tree_map(lambda a: jnp.asarray(a, dtype), PARAMS)
    state = optimiser.init(params)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        grads = jax.grad(lambda p: loss(jnp, p, X.astype(dtype), Y.astype(dtype)))(params)
        updates, state = optimiser.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(STEPS):
        params, state = step(params, state)
    return params


def matrices(params: Any) -> Any:
    return jax.tree_util.tree_map(lambda p: p.ndim == 2, params)


PAIRS: dict[str, tuple[optim.Optimiser, Callable[[], optax.GradientTransformation]]] = {
    "sgd": (optim.SGD(0.1), lambda: optax.sgd(0.1)),
    "momentum": (optim.SGD(0.05, 0.9), lambda: optax.sgd(0.05, 0.9)),
    "nesterov": (
        optim.SGD(optim.linear(0.05, 0.01, 60), 0.9, nesterov=True),
        lambda: optax.sgd(optax.linear_schedule(0.05, 0.01, 60), 0.9, nesterov=True),
    ),
    "adam": (optim.Adam(1e-2), lambda: optax.adam(1e-2)),
    "nadam": (optim.Adam(1e-2, nesterov=True), lambda: optax.nadam(1e-2)),
    "adamw": (
        optim.AdamW(
            optim.warmup(10, optim.cosine(1e-2, 90, 1e-4)),
            weight_decay=0.1,
            clip_norm=0.5,
            decay_mask=lambda path, leaf: leaf.ndim == 2,
        ),
        lambda: optax.chain(
            optax.clip_by_global_norm(0.5),
            optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100, 1e-4), weight_decay=0.1, mask=matrices),
        ),
    ),
    "lion": (optim.Lion(1e-3, weight_decay=0.1), lambda: optax.lion(1e-3, weight_decay=0.1)),
    "muon": (optim.Muon(1e-2, weight_decay=0.01), lambda: optax.contrib.muon(1e-2, weight_decay=0.01)),
    "adagrad": (optim.Adagrad(0.1), lambda: optax.adagrad(0.1)),
    "rmsprop": (optim.RMSprop(1e-3), lambda: optax.rmsprop(1e-3)),
    "rmsprop-momentum": (
        optim.RMSprop(optim.linear(1e-3, 1e-4, 60), 0.95, 1e-6, centered=True, momentum=0.8, nesterov=True),
        lambda: optax.rmsprop(optax.linear_schedule(1e-3, 1e-4, 60), 0.95, 1e-6, 0.0, True, True, 0.8, True),
    ),
    "adadelta": (optim.Adadelta(1.0, weight_decay=0.1), lambda: optax.adadelta(1.0, weight_decay=0.1)),
    "groups": (
        optim.Groups(
            {"matrix": optim.AdamW(1e-2, b1=0.8, b2=0.99, eps=1e-7), "vector": optim.SGD(0.1, 0.9)},
            lambda path, leaf: "matrix" if leaf.ndim == 2 else "vector",
            clip_norm=0.5,
        ),
        lambda: optax.chain(
            optax.clip_by_global_norm(0.5),
            optax.multi_transform(
                {"matrix": optax.adamw(1e-2, 0.8, 0.99, 1e-7, weight_decay=0.01), "vector": optax.sgd(0.1, 0.9)},
                {"w": "matrix", "v": ["matrix"], "b": "vector"},
            ),
        ),
    ),
    "accumulated": (
        optim.Accumulated(optim.Adam(1e-2), 4),
        lambda: optax.MultiSteps(optax.adam(1e-2), 4).gradient_transformation(),
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-7), (np.float32, 2e-5)])
def test_an_optimiser_is_that_of_optax(name: str, dtype: Any, tolerance: float):
    optimiser, other = PAIRS[name]
    found, expected = ours(optimiser, dtype), of_optax(other(), dtype)
    for a, b in zip(trees.flatten(found)[0], jax.tree_util.tree_leaves(expected), strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def test_adafactor_is_that_of_pytorch():
    """Restated from the documentation of `torch.optim.Adafactor`, with gradients of JAX's."""
    rate, decay, eps2 = 1e-2, 0.1, 1e-3
    eps1 = float(np.finfo(np.float32).eps)
    params = {k: np.array(v) for k, v in {"w": PARAMS["w"], "v": PARAMS["v"][0], "b": PARAMS["b"]}.items()}
    rows: dict[str, Any] = dict.fromkeys(params, 0.0)
    columns: dict[str, Any] = dict.fromkeys(params, 0.0)
    gradient = jax.jit(jax.grad(lambda p: loss(jnp, {"w": p["w"], "v": [p["v"]], "b": p["b"]}, X, Y)))
    for step in range(1, STEPS + 1):
        for name, g in gradient(params).items():
            p, g = params[name], np.asarray(g)
            new, rho = step**-0.8, min(rate, step**-0.5)
            alpha = max(eps2, np.sqrt((p * p).mean())) * rho
            p = p * (1 - rate * decay)
            rows[name] += new * ((g * g if g.ndim < 2 else (g * g).mean(-1, keepdims=True)) - rows[name])
            second = rows[name]
            if g.ndim == 2:
                columns[name] += new * ((g * g).mean(-2, keepdims=True) - columns[name])
                second = rows[name] @ columns[name] / max(rows[name].mean(), eps1)
            update = g / np.sqrt(np.maximum(second, eps1 * eps1))
            params[name] = p - alpha / max(1.0, np.sqrt((update * update).mean())) * update
    found = ours(optim.Adafactor(rate, weight_decay=decay), np.float64)
    for a, b in ((found["w"], params["w"]), (found["v"][0], params["v"]), (found["b"], params["b"])):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_schedules_of_no_steps_are_at_their_end():
    assert rlx.optim.cosine(1e-3, 0, 1e-5)(0) == 1e-5 and rlx.optim.linear(1.0, 2.0, 0)(0) == 2.0
    assert rlx.optim.warmup(0, 0.1)(0) == 0.1


def test_schedules_count_from_zero():
    rates = optim.warmup(4, optim.cosine(1.0, 8, 0.1))
    expected = optax.warmup_cosine_decay_schedule(0.0, 1.0, 4, 12, 0.1)
    np.testing.assert_allclose([rates(n) for n in range(15)], [expected(n) for n in range(15)], rtol=1e-6)
    assert optim.warmup(0, 0.5)(0) == 0.5 and optim.constant(0.25)(7) == 0.25


def test_norms_clip_and_averages():
    grads = {"a": np.array([3.0, 0.0]), "b": np.array([4.0])}
    assert optim.global_norm(grads) == 5
    clipped = optim.clip_by_global_norm(grads, 1.0)
    np.testing.assert_allclose(clipped["a"], [0.6, 0])
    same = optim.clip_by_global_norm(grads, 5.5)
    np.testing.assert_array_equal(same["b"], [4.0])
    zero = optim.clip_by_global_norm({"a": np.zeros(2)}, 1.0)
    np.testing.assert_array_equal(zero["a"], 0)
    assert np.isnan(optim.clip_by_global_norm({"a": np.array([np.nan, 1.0])}, 1.0)["a"]).all()
    for wrong in (-1.0, 0.0, np.nan, "1", np.ones(2)):
        with pytest.raises(rlx.GraphError, match="clip_by_global_norm: most: expected a number above 0, got"):
            optim.clip_by_global_norm(grads, wrong)
    np.testing.assert_allclose(optim.ema(grads, {"a": np.zeros(2), "b": np.ones(1)}, 0.9)["b"], [3.7])


@pytest.mark.parametrize(
    ("optimiser", "arguments", "error"),
    [
        (optim.Adam, {"lr": 0.1}, r"Adam has no argument 'lr': write learning_rate="),
        (optim.AdamW, {"learning_rate": 0.1, "betas": (0.9, 0.99)}, r"'betas': write b1= and b2="),
        (optim.AdamW, {"learning_rate": 0.1, "beta1": 0.9}, r"'beta1': write b1="),
        (optim.AdamW, {"learning_rate": 0.1, "wd": 0.9}, r"'wd': write weight_decay="),
        (optim.AdamW, {"learning_rate": 0.1, "weight_decy": 0.9}, r"'weight_decy': did you mean weight_decay="),
        (optim.Adam, {"learning_rate": 0.1, "weight_decay": 0.9}, r"'weight_decay': use AdamW\(weight_decay=\)"),
        (optim.SGD, {"learning_rate": 0.1, "clip": 1.0}, r"'clip': write clip_norm="),
        (optim.SGD, {"learning_rate": 0.1, "foreach": 1.0}, r"'foreach': its arguments are learning_rate, momentum,"),
    ],
)
def test_arguments_of_other_libraries_are_errors_that_name_ours(optimiser: Any, arguments: Any, error: str):
    with pytest.raises(rlx.GraphError, match=error):
        optimiser(**arguments)


@pytest.mark.parametrize("kind", [one for name in optim.__all__ if is_dataclass(one := getattr(optim, name))])
def test_arguments_outside_of_their_range_are_errors_that_name_it(kind: Any):
    inner = {"inner": optim.SGD(0.1), "every": 2, "optimisers": {}, "labels": {}, "learning_rate": 0.1}
    given = {one.name: inner[one.name] for one in fields(kind) if one.default is MISSING}
    assert kind(**given) == kind(**given)
    tried = [one.name for one in fields(kind) if one.name in (*RANGES, *FLAGS)]
    assert "clip_norm" in tried
    for name in tried:
        words, fits = RANGES.get(name, ("True or False", lambda x: False))
        for wrong in ("x", float("nan"), [1.0], True, -1.0, 0.0, 0.5, 1.0, 2.0):
            number = not isinstance(wrong, str | list | bool)
            if (number and fits(wrong)) or (name in FLAGS and wrong is True):
                kind(**{**given, name: wrong})
                continue
            with pytest.raises(rlx.GraphError, match=rf"{kind.__name__}: {name}: expected {words}.*, got "):
                kind(**{**given, name: wrong})


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda x: optim.Accumulated(x, 2), "Accumulated: inner"),
        (lambda x: optim.Sharded(x), "Sharded: inner"),
        (lambda x: optim.Groups({"a": optim.SGD(0.1), "b": x}, {}), r"Groups: optimisers\['b'\]"),
    ],
)
def test_an_optimiser_of_what_is_none_is_an_error(make: Any, what: str):
    for wrong in (5, None, optim.SGD):
        with pytest.raises(rlx.GraphError, match=f"{what}: expected an optimiser, got "):
            make(wrong)
    with pytest.raises(rlx.GraphError, match="Groups: optimisers: expected a dict by label, got 5"):
        optim.Groups(5, {})  # pyright: ignore[reportArgumentType]


def test_a_missing_argument_is_an_error_that_names_it():
    with pytest.raises(rlx.GraphError, match="Adam: missing a required argument: 'learning_rate'; its arguments are"):
        optim.Adam(b1=0.5)


def test_a_label_without_an_optimiser_is_an_error():
    groups = optim.Groups({"a": optim.SGD(0.1)}, labels={"w": "a", "v": ["a"], "b": "c"})
    with pytest.raises(rlx.GraphError, match=r"Groups: labels\['b'\]: expected one of 'a', got 'c'"):
        groups.init(PARAMS)


@pytest.mark.parametrize("optimiser", [optim.Adam(0.1), optim.Accumulated(optim.SGD(0.1), 2)])
def test_update_without_parameters_names_them(optimiser: Any) -> None:
    params = {"w": np.ones(2)}
    with pytest.raises(rlx.GraphError, match="update: params is missing; its arguments are grads, state, params"):
        optimiser.update(params, optimiser.init(params))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [one for name in optim.__all__ if is_dataclass(one := getattr(optim, name))])
@pytest.mark.parametrize("compiled", [False, True])
def test_leaves_without_elements_stay_as_they_are(kind: Any, compiled: bool) -> None:
    params = [np.ones(shape, np.float32) for shape in ((0,), (0, 2), (2, 0), (), (2, 2))]
    groups = {"optimisers": {"a": optim.Adafactor(0.1)}, "labels": ["a"] * len(params)}
    inner = {
        "inner": optim.SGD(0.1) if kind is optim.Sharded else optim.Muon(0.1),
        "every": 1,
        "learning_rate": 0.1,
        **groups,
    }
    optimiser = kind(**{one.name: inner[one.name] for one in fields(kind) if one.default is MISSING})
    grads, state = [2.0 * one for one in params], optimiser.init(params)
    update = rlx.compile(lambda *args: optimiser.update(*args)) if compiled else optimiser.update
    for _ in range(2):
        found, state = update(grads, state, params)
        assert [np.shape(one) for one in found] == [one.shape for one in params]
        assert all(np.isfinite(one).all() for one in trees.flatten((found, state))[0])
        assert np.all(np.asarray(found[-1]) < 1)


def test_a_divided_state_of_one_process_is_that_of_the_optimiser() -> None:
    inner = optim.AdamW(0.1, clip_norm=0.5)
    params = {"w": np.ones((3, 2), np.float32), "b": np.ones(2, np.float32)}
    grads = trees.map(lambda p: 2 * p, params)
    (a, one), (b, other) = (o.update(grads, o.init(params), params) for o in (inner, optim.Sharded(inner)))
    assert one.keys() == other.keys()
    for found, expected in zip(trees.flatten((b, other))[0], trees.flatten((a, one))[0], strict=True):
        assert np.array_equal(found, expected)


class Signs(optim.Optimiser):
    """An optimiser of a program's own, which does not say whether it is elementwise."""

    learning_rate, clip_norm = 0.1, None

    def slots(self, leaf: Any) -> dict[str, Any]:
        return {}

    def rule(self, at: Any) -> Any:
        return at.moved(np.sign(at.g), 0.0), {}


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (optim.Muon(0.1), "the rule of Muon is not elementwise, so its parameters cannot be divided; use it without"),
        (optim.Accumulated(optim.Adafactor(), 2), "the rule of Adafactor is not elementwise"),
        (optim.Groups({}, {}), "the rule of Groups is not elementwise"),
        (Signs(), "the rule of Signs is not elementwise.*set `elementwise = True` in a class of your own"),
        (0.1, "inner: expected an optimiser, got 0.1"),
    ],
)
def test_an_optimiser_that_needs_whole_arrays_is_not_divided(inner: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=f"Sharded: {message}"):
        optim.Sharded(inner)
