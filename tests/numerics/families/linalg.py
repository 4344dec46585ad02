"""Matrix products, contractions, products with a low-rank correction."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import NARROW, Operand, Sample, integers, method
from oracle import Array, widen

from xdsl_rlx.dialects.mir import linalg

_PRODUCTS: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("", (3, 5), (5, 4)),
    ("-vector", (1, 5), (5, 1)),
    ("-batch", (2, 3, 5), (2, 5, 4)),
    ("-shared-rhs", (2, 3, 5), (5, 4)),
    ("-shared-lhs", (3, 5), (2, 5, 4)),
    ("-broadcast", (2, 1, 3, 5), (4, 5, 2)),
    ("-broadcast-one", (1, 3, 5), (4, 5, 2)),
    ("-no-k", (3, 0), (0, 4)),
    ("-no-rows", (0, 5), (5, 4)),
    ("-no-batch", (0, 3, 5), (5, 4)),
    ("-odd", (17, 33), (33, 19)),
)

CONTRACTIONS: tuple[
    tuple[str, tuple[int, ...], tuple[int, ...], tuple[list[int], list[int], list[int], list[int]]], ...
] = (
    ("", (3, 5), (5, 4), ([1], [0], [], [])),
    ("-transposed", (5, 3), (4, 5), ([0], [1], [], [])),
    ("-rows", (3, 5), (4, 5), ([1], [1], [], [])),
    ("-batch", (2, 3, 5), (2, 5, 4), ([2], [1], [0], [0])),
    ("-batch-behind", (3, 5, 2), (5, 4, 2), ([1], [0], [2], [2])),
    ("-batches", (2, 3, 5, 4), (4, 6, 2, 5), ([2], [3], [0, 3], [2, 0])),
    ("-batches-swapped", (2, 3, 5, 4), (4, 6, 2, 5), ([2], [3], [3, 0], [0, 2])),
    ("-two", (3, 5, 2), (5, 2, 4), ([1, 2], [0, 1], [], [])),
    ("-two-crossed", (3, 5, 2), (2, 4, 5), ([1, 2], [2, 0], [], [])),
    ("-two-apart", (5, 3, 2), (4, 2, 6, 5), ([0, 2], [3, 1], [], [])),
    ("-free", (2, 3, 5), (4, 5, 6), ([2], [1], [], [])),
    ("-free-front", (5, 2, 3), (5,), ([0], [0], [], [])),
    ("-heads", (2, 7, 3, 4), (2, 5, 3, 4), ([3], [3], [0, 2], [0, 2])),
    ("-everything", (2, 3, 4), (4, 2, 3), ([0, 1, 2], [1, 2, 0], [], [])),
    ("-dot", (5,), (5,), ([0], [0], [], [])),
    ("-outer", (3,), (2, 4), ([], [], [], [])),
    ("-pointwise", (3, 4), (4, 3), ([], [], [0, 1], [1, 0])),
    ("-scalars", (), (), ([], [], [], [])),
    ("-one", (1, 1, 5), (5, 1, 1), ([2], [0], [0], [1])),
    ("-no-k", (3, 0), (0, 4), ([1], [0], [], [])),
    ("-no-rows", (0, 5), (5, 4), ([1], [0], [], [])),
    ("-no-batch", (0, 3, 5), (0, 5, 4), ([2], [1], [0], [0])),
    ("-odd", (17, 33, 3), (19, 3, 33), ([1], [2], [2], [1])),
)


def _matmul_samples() -> list[Sample]:
    op, build = linalg.MatmulOp, method("matmul")
    rows = [
        Sample(f"matmul{suffix}", op, build, (Operand(lhs), Operand(rhs)), differentiable=(0, 1), tol=32)
        for suffix, lhs, rhs in _PRODUCTS
    ]
    transposed = lambda m, x, y: m.matmul(m.transpose(x, (1, 0)), m.transpose(y, (1, 0)))  # noqa: E731
    operands = (Operand((5, 3)), Operand((4, 5)))
    rows.append(Sample("matmul-transposed", op, transposed, operands, differentiable=(0, 1), tol=32))
    rows.append(Sample("matmul-narrow", op, build, (Operand((3, 5)), Operand((5, 4))), NARROW, tol=32))
    return rows


def _dot_samples() -> list[Sample]:
    op = linalg.DotGeneralOp
    rows: list[Sample] = []
    for suffix, lhs, rhs, axes in CONTRACTIONS:
        build = lambda m, x, y, a=axes: m.dot_general(x, y, *a)  # noqa: E731
        operands = (Operand(lhs), Operand(rhs))
        rows.append(Sample(f"dot_general{suffix}", op, build, operands, differentiable=(0, 1), tol=32))
    crossed = lambda m, x, y: m.dot_general(x, y, [-2, -1], [2, 0])  # noqa: E731
    shapes = (3, 5, 2), (2, 4, 5)
    rows.append(Sample("dot_general-narrow", op, crossed, (Operand(shapes[0]), Operand(shapes[1])), NARROW, tol=32))
    ints = tuple(Operand(shape, integers(-9, 9), "i32") for shape in shapes)
    rows.append(Sample("dot_general-int", op, crossed, ints, ("i32",), exact=True))
    moved = lambda m, x, y: m.dot_general(m.transpose(x, (2, 0, 1)), m.transpose(y, (1, 0, 2)), [2], [2], [0], [1])  # noqa: E731
    rows.append(
        Sample(
            "dot_general-of-views", op, moved, (Operand((3, 5, 2)), Operand((2, 4, 5))), differentiable=(0, 1), tol=32
        )
    )
    return rows


def _lora_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, x, n, r in (("", (3, 5), 4, 2), ("-batch", (2, 3, 5), 4, 1), ("-rank-0", (3, 5), 4, 0)):
        build = lambda m, x, w, a, b: m.lora_matmul(x, w, a, b, 0.3)  # noqa: E731
        operands = tuple(Operand(shape) for shape in (x, (x[-1], n), (x[-1], r), (r, n)))
        rows.append(
            Sample(f"lora_matmul{suffix}", linalg.LoraMatmulOp, build, operands, differentiable=(0, 1, 2, 3), tol=64)
        )
    narrow = tuple(Operand(shape) for shape in ((3, 5), (5, 4), (5, 2), (2, 4)))
    build = lambda m, x, w, a, b: m.lora_matmul(x, w, a, b, 0.3)  # noqa: E731
    rows.append(Sample("lora_matmul-narrow", linalg.LoraMatmulOp, build, narrow, NARROW, tol=64))
    return rows


def _letters(op: linalg.DotGeneralOp) -> str:
    """The contraction as an einsum."""
    names = iter("abcdefghijklmnopqrstuvwxyz")
    sides = op.sides
    shared = [[next(names) for _ in axes] for axes in (sides[0].batch, sides[0].contracting)]
    free = [[next(names) for _ in side.free] for side in sides]
    texts: list[str] = []
    for side, own in zip(sides, free, strict=True):
        of = dict(zip((*side.batch, *side.contracting, *side.free), (*shared[0], *shared[1], *own), strict=True))
        texts.append("".join(of[axis] for axis in sorted(of)))
    return f"{texts[0]},{texts[1]}->{''.join([*shared[0], *free[0], *free[1]])}"


def _oracle_dot(op: linalg.DotGeneralOp, lhs: Array, rhs: Array) -> Array:
    return np.einsum(_letters(op), widen(lhs), widen(rhs))


def _jax_dot(op: linalg.DotGeneralOp, lhs: Any, rhs: Any) -> Any:
    left, right = op.sides
    return lax.dot_general(lhs, rhs, ((left.contracting, right.contracting), (left.batch, right.batch)))


def _lora(op: linalg.LoraMatmulOp, x: Any, w: Any, a: Any, b: Any) -> Any:
    return x @ w + op.scale.value.data * ((x @ a) @ b)


SAMPLES = (*_matmul_samples(), *_dot_samples(), *_lora_samples())
ORACLE = {
    linalg.MatmulOp: lambda op, x, y: np.matmul(widen(x), widen(y)),
    linalg.DotGeneralOp: _oracle_dot,
    linalg.LoraMatmulOp: lambda op, *xs: _lora(op, *map(widen, xs)),
}
JAX = {
    linalg.MatmulOp: lambda op, x, y: jnp.matmul(x, y),
    linalg.DotGeneralOp: _jax_dot,
    linalg.LoraMatmulOp: _lora,
}
