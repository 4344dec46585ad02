"""A program of a user who has a type checker: `make lint` checks it, and `test_user_program.py` runs it."""

# a call that is to be an error is ignored: were it none, that would be one
# pyright: reportUnnecessaryTypeIgnoreComment=true

from os import PathLike
from typing import Any, NamedTuple, assert_type

import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.optim import AdamW

Array = np.ndarray


class Params(NamedTuple):
    """Weights `[3, 4]` and `[4]`, offset of the result."""

    w: Array
    v: Array
    offset: Array


@rlx.custom_vjp
def clipped(x: Array, limit: float) -> Array:
    """The identity; the gradient stays within `limit`."""
    return x


def _forward(x: Array, limit: float) -> tuple[Array, float]:
    return x, limit


def _backward(limit: float, g: Array) -> tuple[Array, None]:
    return np.clip(g, -limit, limit), None


clipped.defvjp(_forward, _backward)


@rlx.custom_op("typed.softsign")
def softsign(b: rlx.GraphBuilder, x: rlx.Value, width: float = 1.0) -> rlx.Value:
    """`x / (|x| + width)`."""
    return x / (b.abs(x) + width)


def loss(params: Params, x: Array, y: Array) -> Array:
    """The mean square error of two layers."""
    hidden: Array = rlx.layer_norm(rlx.relu(x @ params.w), np.ones(4, np.float32), np.zeros(4, np.float32))
    noise = rlx.dropout(hidden, 0.25, rlx.key(0))
    total: Array = rlx.softmax(noise, axis=-1).std() + softsign(clipped(hidden, 2.0), width=2.0).sum()
    return np.mean((hidden @ params.v + params.offset - y) ** 2) + 1e-3 * total


@rlx.compile
def step(params: Params, state: Any, x: Array, y: Array) -> tuple[Array, Params, Any]:
    """One step of AdamW."""
    value, grads = rlx.value_and_grad(loss)(params, x, y)
    params, state = AdamW(0.1).update(grads, state, params)
    return value, params, state


def graph() -> rlx.Graph:
    """A graph by hand, with functions of NumPy, and with ops that plugins of the package register."""
    g = rlx.Graph("typed")
    x = g.input("x", (2, 3))
    scores, means = g.input("scores", (2, 4)), g.input("w", (3, 3))
    y = g.attention(g.reshape(x @ means, (1, 2, 3)), *[g.reshape(x, (1, 2, 3))] * 2, num_heads=1, mask_kind="causal")
    decoded = g.dequant_moe_weights(g.constant(np.zeros((1, 32, 1, 18), np.uint8)), (1, 32, 32), "gguf_q4_0")
    g.set_outputs({"y": y, "p": np.exp(scores), "decoded": g.reduce_sum(decoded), "one": 1.0})
    return g


@rlx.compile(static="count")
def power(x: Array, count: int = 2) -> Array:
    """`x ** count`."""
    return x**count


class Layer:
    """An object with a compiled method, one of a given option, and one with a rule."""

    def __init__(self, w: Array):
        self.w = w

    @rlx.compile
    def forward(self, x: Array) -> Array:
        """`x @ w`."""
        return x @ self.w

    @rlx.compile(static="count")
    def often(self, x: Array, count: int) -> Array:
        """The same, `count` times."""
        return x @ self.w * count

    @staticmethod
    @rlx.compile
    def twice(x: Array) -> Array:
        """`2 x`."""
        return x + x

    @classmethod
    @rlx.compile
    def ones(cls, x: Array) -> Array:
        """`x + 1`."""
        return x + 1.0

    @rlx.custom_jvp
    def same(self, x: Array) -> Array:
        """The identity."""
        return x


def _same_jvp(primals: tuple[Layer, Array], tangents: tuple[Layer, Array]) -> tuple[Array, Array]:
    return primals[1], tangents[1]


Layer.same.defjvp(_same_jvp)


def dot(a: Array, b: Array) -> Array:
    """The inner product of vectors."""
    return (a * b).sum()


def signatures(x: Array) -> list[Array]:
    """Functions that are transformed keep their parameters and results."""
    layer = Layer(np.stack([x, x]).T)
    value, grads = assert_type(rlx.value_and_grad(dot)(x, b=x), tuple[Array, Any])
    results, tangents = assert_type(rlx.jvp(dot)((x, x), (x, x)), tuple[Array, Any])
    results, pulled = assert_type(rlx.vjp(dot)((x, x), results), tuple[Array, tuple[Any, ...]])
    assert_type(rlx.jvp(dot, (x, x), (x, x)), tuple[Array, Any])
    found, pull = rlx.vjp(dot, x, x)
    pulled += assert_type(pull(assert_type(found, Array)), tuple[Any, ...])
    product = rlx.compile(rlx.hvp(dot, argnums=(0, 1)))((x, x), tangent=(x, x))
    compiled = rlx.compile(rlx.value_and_grad(dot))
    assert_type(compiled(x, x), tuple[Array, Any])
    assert compiled.trace(x, x).stage and compiled.compiled(a=x, b=x).params == ()
    assert layer.forward.trace(x).stage and Layer.forward.direct is None
    return [
        assert_type(power(x, count=3), Array),
        assert_type(layer.forward(x), Array),
        assert_type(layer.often(x, 2), Array),
        assert_type(layer.same(x), Array),
        assert_type(Layer.twice(x), Array),
        assert_type(layer.ones(x), Array),
        assert_type(rlx.vmap(dot, in_axes=(0, None))(np.stack([x, x]), x), Array),
        rlx.compile(rlx.vmap(rlx.remat(dot)))(np.stack([x, x]), np.stack([x, x])),
        rlx.grad(rlx.remat(dot), argnums=1)(x, x),
        value,
        grads,
        tangents,
        *pulled,
        *product,
    ]


def wrong_calls(x: Array) -> None:
    """Calls that type checkers reject; nothing runs them."""
    power("a", m=3)  # pyright: ignore[reportCallIssue]
    power("a")  # pyright: ignore[reportArgumentType]
    Layer(x).forward()  # pyright: ignore[reportCallIssue]
    Layer(x).forward.trace(x, x)  # pyright: ignore[reportCallIssue]
    Layer.twice()  # pyright: ignore[reportCallIssue]
    Layer(x).same()  # pyright: ignore[reportCallIssue]
    clipped(x)  # pyright: ignore[reportCallIssue]
    rlx.grad(dot)(x)  # pyright: ignore[reportCallIssue]
    rlx.value_and_grad(dot)(x, y=x)  # pyright: ignore[reportCallIssue]
    rlx.vmap(dot)(x)  # pyright: ignore[reportCallIssue]
    rlx.jvp(dot, (x, x))  # pyright: ignore[reportArgumentType]
    rlx.jvp(dot)((x, x))  # pyright: ignore[reportCallIssue]
    rlx.vjp(dot)(x, x, x)  # pyright: ignore[reportCallIssue]
    rlx.hvp(dot)((x, x), tangents=x)  # pyright: ignore[reportCallIssue]
    rlx.jacrev(dot)(x)  # pyright: ignore[reportCallIssue]
    rlx.compile(rlx.remat(dot))(x)  # pyright: ignore[reportCallIssue]


def results(x: Array, path: str | PathLike[str]) -> list[Array]:
    """Results of graphs and of exported programs are tuples with the names of the outputs."""
    g = rlx.Graph("squares")
    w = g.param("w", (3,))
    g.set_outputs({"loss": (g.input("x", (3,)) * w).sum()})
    weights = rlx.Weights({})
    compiled = rlx.compile(rlx.grad_with_loss(g, "w"), weights=weights)
    weights.update({"w": [1.0, 2.0, 3.0]})
    weights.update(w=np.ones(3, np.float32))
    weights["w"] = weights.setdefault("w", 2.0)
    found = compiled(x)
    value, gradient = found
    rlx.export(compiled, path)
    again = rlx.load_export(path)(x)
    whole: tuple[Array, ...] = found
    return [found.loss, found.d_w, value, gradient, again.loss, again[1], *whole]
