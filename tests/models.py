"""Small models that several tests compile: graphs, and arrays for their arguments."""

from typing import Any

import numpy as np

import xdsl_rlx as rlx

Arrays = dict[str, np.ndarray[Any, Any]]

SIZES = (20, 16, 5)
WEIGHTS = ("w1", "b1", "w2", "b2")


def mlp(dtype: str = "f32", batch: int = 12) -> rlx.Graph:
    """Mean cross entropy of a classifier with one hidden layer."""
    g = rlx.Graph("mlp")
    x, labels = g.input("x", (batch, SIZES[0]), dtype), g.input("labels", (batch,), "i32")
    shapes = ((SIZES[0], SIZES[1]), (SIZES[1],), (SIZES[1], SIZES[2]), (SIZES[2],))
    w1, b1, w2, b2 = (g.param(name, shape, dtype) for name, shape in zip(WEIGHTS, shapes, strict=True))
    logits = g.tanh(x @ w1 + b1) @ w2 + b2
    g.set_outputs(g.reduce_mean(g.softmax_cross_entropy_with_logits(logits, labels)))
    return g


def mlp_step(dtype: str = "f32", batch: int = 12) -> rlx.GraphModule:
    """Loss and gradients of `mlp`."""
    return rlx.grad_with_loss(mlp(dtype, batch), wrt=WEIGHTS)


def mlp_arrays(dtype: str = "f32", batch: int = 12) -> Arrays:
    """Arguments of `mlp`."""
    rng = np.random.default_rng(0)
    to = np.float64 if dtype == "f64" else np.float32
    shapes = {"x": (batch, SIZES[0]), "w1": SIZES[:2], "b1": SIZES[1:2], "w2": SIZES[1:], "b2": SIZES[2:]}
    arrays: Arrays = {name: (0.5 * rng.standard_normal(shape)).astype(to) for name, shape in shapes.items()}
    return arrays | {"labels": rng.integers(0, SIZES[2], batch).astype(np.int32)}


def norm_step(rows: int = 300, width: int = 96) -> rlx.GraphModule:
    """A layer norm with gelu, large enough to be cut up, and its gradients."""
    g = rlx.Graph("norm")
    x, gamma, beta = g.input("x", (rows, width)), g.param("gamma", (width,)), g.param("beta", (width,))
    g.set_outputs(g.reduce_mean(g.gelu(g.layer_norm(x, gamma, beta)) * x))
    return rlx.grad_with_loss(g, wrt=["x", "gamma", "beta"])


def norm_arrays(rows: int = 300, width: int = 96) -> Arrays:
    """Arguments of `norm_step`."""
    rng = np.random.default_rng(1)
    shapes = {"x": (rows, width), "gamma": (width,), "beta": (width,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
