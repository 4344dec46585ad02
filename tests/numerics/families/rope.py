"""Rotary embeddings."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import Operand, Sample
from oracle import Array, widen

from xdsl_rlx.dialects.mir import rope
from xdsl_rlx.dialects.mir.heads import HeadLayout
from xdsl_rlx.dialects.mir.rope import Pairing

Shape = tuple[int, ...]


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    cases: list[tuple[str, Shape, Shape, dict[str, Any]]] = [
        ("", (2, 5, 12), (5, 3), {"head_dim": 6}),
        ("-part", (2, 3, 16), (3, 4), {"num_heads": 2, "n_rot": 4}),
        ("-odd", (1, 3, 10), (3, 2), {"head_dim": 5, "n_rot": 4}),
        ("-none", (1, 3, 4), (3, 2), {"head_dim": 4, "n_rot": 0}),
        ("-bhsd", (2, 3, 4, 6), (4, 3), {"layout": "bhsd"}),
        ("-bshd", (2, 4, 3, 6), (2, 4, 3), {"layout": "bshd", "n_rot": 2}),
        ("-positions", (2, 4, 8), (2, 4, 2), {"head_dim": 4}),
        ("-neighbours", (2, 4, 12), (4, 3), {"head_dim": 6, "pairing": "neighbours"}),
        ("-neighbours-part", (1, 2, 4, 6), (4, 3), {"layout": "bhsd", "n_rot": 4, "pairing": "neighbours"}),
        ("-wide", (1, 3, 40), (3, 20), {"num_heads": 1}),
        ("-empty", (2, 0, 8), (0, 2), {"head_dim": 4}),
    ]
    for suffix, x, table, attributes in cases:
        for op in (rope.RopeOp, rope.RopeBackwardOp):
            name = op.name.removeprefix("mir.")
            build = lambda m, x, c, s, n=name, a=attributes: getattr(m, n)(x, c, s, **a)  # noqa: E731
            operands = (Operand(x), Operand(table), Operand(table))
            rows.append(Sample(f"{name}{suffix}", op, build, operands, differentiable=(0, 1, 2)))
    half = lambda m, x, c, s: m.rope(x, c, s, head_dim=4)  # noqa: E731
    narrow = (Operand((2, 3, 8)), Operand((3, 2)), Operand((3, 2)))
    rows.append(Sample("rope-half", rope.RopeOp, half, narrow, ("f16", "bf16")))
    return rows


def _axial_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, x, end, attributes in (
        ("", (2, 6, 16), (3, 2), {"head_dim": 8, "theta": 100.0}),
        ("-repeat", (1, 12, 4), (2, 3), {"num_heads": 1, "repeat_factor": 2}),
        ("-repeat-0", (1, 2, 8), (2, 1), {"head_dim": 4, "repeat_factor": 0}),
    ):
        build = lambda m, x, e=end, a=attributes: m.axial_rope_2d(x, *e, **a)  # noqa: E731
        rows.append(
            Sample(f"axial_rope_2d{suffix}", rope.AxialRope2dOp, build, (Operand(x),), differentiable=(0,), tol=16)
        )
    return rows


def _turn(np_: Any, op: Any, x: Any, cos: Any, sin: Any) -> Any:
    """The pairs of each head as complex numbers, turned."""
    n, shape = op.n_rot.value.data, x.shape
    x = x.transpose(0, 2, 1, 3) if op.layout.data == HeadLayout.BHSD else x
    heads = op.heads
    x = x.reshape(heads)
    first, second = np.arange(n // 2), np.arange(n // 2) + n // 2
    if op.pairing.data == Pairing.NEIGHBOURS:
        first, second = 2 * np.arange(n // 2), 2 * np.arange(n // 2) + 1
    places = np.argsort(np.concatenate([first, second, np.arange(n, heads.width)]))
    rows = [t[..., None, :][..., : n // 2] for t in (cos, sin)]
    a, b = x[..., first], x[..., second]
    turned = np_.concatenate([a * rows[0] - b * rows[1], b * rows[0] + a * rows[1], x[..., n:]], axis=-1)[..., places]
    return (turned.transpose(0, 2, 1, 3) if op.layout.data == HeadLayout.BHSD else turned).reshape(shape)


def _oracle(sign: int) -> Any:
    def row(op: Any, x: Array, cos: Array, sin: Array) -> Array:
        return _turn(np, op, widen(x), widen(cos), sign * widen(sin))

    return row


def _jax_backward(op: rope.RopeBackwardOp, dy: Any, cos: Any, sin: Any) -> Any:
    return jax.vjp(lambda x: _turn(jnp, op, x, cos, sin), jnp.zeros_like(dy))[1](dy)[0]


def _axial(np_: Any, op: rope.AxialRope2dOp, x: Any) -> Any:
    """Token by token, as complex numbers."""
    heads, quarter = op.heads, op.heads.width // 4
    z = x.reshape(*heads[:3], heads.width // 2, 2)
    z = z[..., 0] + 1j * z[..., 1]
    place = np.arange(heads.length) // max(op.repeat_factor.value.data, 1)
    f = op.theta.value.data ** (-4 * np.arange(quarter) / heads.width)
    across, down = place % op.end_x.value.data, place // op.end_x.value.data
    angle = np.concatenate([across[:, None] * f, down[:, None] * f], axis=1)[:, None, :]
    turned = z * np.exp(1j * angle)
    return np_.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


SAMPLES = (*_samples(), *_axial_samples())
ORACLE = {
    rope.RopeOp: _oracle(1),
    rope.RopeBackwardOp: _oracle(-1),
    rope.AxialRope2dOp: lambda op, x: _axial(np, op, widen(x)),
}
JAX = {
    rope.RopeOp: lambda op, x, cos, sin: _turn(jnp, op, x, cos, sin),
    rope.RopeBackwardOp: _jax_backward,
    rope.AxialRope2dOp: lambda op, x: _axial(jnp, op, x),
}
