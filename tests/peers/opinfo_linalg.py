"""PyTorch's linear algebra as mir graphs: products, contractions, systems of equations."""

from collections.abc import Sequence
from functools import reduce
from math import isqrt, prod
from typing import Any

import numpy as np
from peers.opinfo import Adapter, need, swapped

from xdsl_rlx import Graph


def _matmul(g: Graph, x: Any, y: Any) -> Any:
    row, column = x.rank == 1, y.rank == 1
    a = g.reshape(x, (1, *x.shape)) if row else x
    b = g.reshape(y, (*y.shape, 1)) if column else y
    product = g.matmul(a, b)
    shape = list(product.shape)
    if column:
        shape = shape[:-1]
    if row:
        shape = shape[:-2] + shape[-1:] if not column else shape[:-1]
    return g.reshape(product, shape)


def _linear(g: Graph, x: Any, weight: Any, bias: Any = None) -> Any:
    need(weight.rank == 2, "a vector of weights")
    product = _matmul(g, x, g.transpose(weight, (1, 0)))
    return product if bias is None else product + bias


def _rmatmul(g: Graph, x: Any, y: Any) -> Any:
    return _matmul(g, y, x)


def _multi_dot(g: Graph, tensors: Sequence[Any]) -> Any:
    return reduce(lambda x, y: _matmul(g, x, y), tensors)


def _add_product(product: Adapter) -> Adapter:
    """`beta c + alpha product(a, b)`."""
    return lambda g, c, a, b, *, beta=1, alpha=1: g.add(g.mul(c, beta), g.mul(product(g, a, b), alpha))


def _outer(g: Graph, a: Any, b: Any) -> Any:
    return g.dot_general(a, b)


def _inner(g: Graph, a: Any, b: Any) -> Any:
    return g.dot_general(a, b, [a.rank - 1], [b.rank - 1]) if a.rank and b.rank else a * b


def _batched_sum(g: Graph, a: Any, b: Any) -> Any:
    return g.dot_general(a, b, [0, 2], [0, 1])


def _vecdot(g: Graph, a: Any, b: Any, dim: int = -1) -> Any:
    return g.reduce_sum(g.conjugate(a) * b, [dim % max(a.rank, b.rank)])


def _tensordot(g: Graph, a: Any, b: Any, dims: Any) -> Any:
    if isinstance(dims, int):
        return g.dot_general(a, b, list(range(a.rank - dims, a.rank)), list(range(dims)))
    left, right = dims
    shared = zip(left, right, strict=True)
    need(all(a.shape[i] == b.shape[j] for i, j in shared), "contracted dimensions that broadcast")
    return g.dot_general(a, b, [d % a.rank for d in left], [d % b.rank for d in right])


def _einsum(g: Graph, tensors: Sequence[Any], equation: str) -> Any:
    """Of one tensor a sum and a transpose, of two a `dot_general` and a transpose."""
    sides, _, result = equation.partition("->")
    names = sides.split(",")
    need(len(names) in (1, 2) and all(len(set(n)) == len(n) for n in (*names, result)), "a diagonal")
    need(sides.replace(",", "").isalpha() and "->" in equation, "an ellipsis")
    if len(names) == 1:
        order = "".join(c for c in names[0] if c in result)
        y = g.reduce_sum(tensors[0], [i for i, c in enumerate(names[0]) if c not in result])
        return g.transpose(y, [order.index(c) for c in result])
    (left, right), (a, b) = names, tensors
    shared = [c for c in left if c in right]
    need(all(a.shape[left.index(c)] == b.shape[right.index(c)] for c in shared), "dimensions that broadcast")
    need(all(c in result or c in shared for c in left + right), "a sum over one operand")
    batch, summed = [c for c in shared if c in result], [c for c in shared if c not in result]
    places = [[side.index(c) for c in chosen] for chosen in (summed, batch) for side in (left, right)]
    order = [*batch, *(c for c in left + right if c not in shared)]
    return g.transpose(g.dot_general(a, b, *places), [order.index(c) for c in result])


def _solve(g: Graph, a: Any, b: Any, *, left: bool = True) -> Any:
    vector = b.rank == 1 or b.shape == a.shape[:-1]
    need(left or not vector, "a vector from the right")
    columns = g.reshape(b, (*b.shape, 1)) if vector else b if left else swapped(g, b)
    lead = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    a, columns = (g.expand(t, (*lead, *t.shape[-2:])) for t in (a, columns))
    x = (g.batched_dense_solve if lead else g.dense_solve)(a, columns, not left)
    return g.reshape(x, x.shape[:-1]) if vector else x if left else swapped(g, x)


def _inv(g: Graph, a: Any) -> Any:
    return _solve(g, a, g.expand(g.constant(np.eye(a.shape[-1]), a.dtype), a.shape))


def _tensorsolve(g: Graph, a: Any, b: Any, dims: Any = None) -> Any:
    need(dims is None, "dimensions that are moved")
    n = isqrt(prod(a.shape))
    return g.reshape(g.dense_solve(g.reshape(a, (n, n)), g.reshape(b, (n,))), a.shape[b.rank :])


def _lu_factor(g: Graph, a: Any, pivot: bool = True) -> Any:
    """Ours is that of the transpose."""
    need(pivot and a.shape[-1] == a.shape[-2], "a rectangle, or no pivots")
    packed, pivots = g.lu(swapped(g, a))
    return [swapped(g, packed), pivots]


def _lu_solve(g: Graph, factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    lead = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    packed = g.expand(swapped(g, factors), (*lead, *factors.shape[-2:]))
    b = g.expand(b if left else swapped(g, b), (*lead, *(b.shape[-2:] if left else b.shape[:-3:-1])))
    x = g.lu_solve(packed, g.expand(pivots, packed.shape[:-1]), b, left != adjoint)
    return x if left else swapped(g, x)


ADAPTERS: dict[str, Adapter] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), _matmul),
    "vdot": lambda g, a, b: _matmul(g, g.conjugate(a), b),
    "__rmatmul__": _rmatmul,
    "linalg.multi_dot": _multi_dot,
    "linalg.vecdot": _vecdot,
    **{name: _add_product(_matmul) for name in ("addmm", "addmv", "baddbmm")},
    "addbmm": _add_product(_batched_sum),
    "addr": _add_product(_outer),
    "nn.functional.linear": _linear,
    "outer": _outer,
    "inner": _inner,
    "tensordot": _tensordot,
    "einsum": _einsum,
    "linalg.solve": _solve,
    "linalg.inv": _inv,
    "linalg.tensorsolve": _tensorsolve,
    "linalg.lu_factor": _lu_factor,
    "linalg.lu_solve": _lu_solve,
    "lu_solve": lambda g, b, factors, pivots: _lu_solve(g, factors, pivots, b),
}
"""How the samples of an OpInfo are built, by its name."""
