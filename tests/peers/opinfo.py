"""PyTorch's ops as mir graphs: for each OpInfo, how a sample's arguments become ours. The samples are PyTorch's own.

A form of an op that mir does not have (an `out` dtype, complex numbers, a negative padding) raises `NotOurs`.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch

from xdsl_rlx import Graph

Adapter = Callable[..., Any]


class NotOurs(Exception):
    """A form of the op that mir has no equivalent of."""


def need(condition: bool, what: str) -> None:
    """Say that a form is not ours unless `condition` holds."""
    if not condition:
        raise NotOurs(what)


def _unary(name: str) -> Adapter:
    return lambda g, x: getattr(g, name)(x)


def _binary(name: str) -> Adapter:
    def build(g: Graph, x: Any, y: Any, *, alpha: Any = 1, rounding_mode: Any = None) -> Any:
        need(rounding_mode is None, "rounding")
        return getattr(g, name)(x, y if alpha == 1 else g.mul(y, alpha))

    return build


def _axes(x: Any, dim: Any) -> list[int]:
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return list(range(x.rank))
    return [d % max(x.rank, 1) for d in (dim if isinstance(dim, Sequence) else (dim,))] if x.rank else []


def _reduction(name: str) -> Adapter:
    def build(g: Graph, x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        need(dtype is None, "dtype")
        return getattr(g, name)(x, _axes(x, dim), keepdim)

    return build


def _gelu(g: Graph, x: Any, *, approximate: str = "none") -> Any:
    return g.gelu(x) if approximate == "none" else g.gelu_approx(x)


def _relu(g: Graph, x: Any, inplace: bool = False) -> Any:
    return g.relu(x)


def _silu(g: Graph, x: Any, inplace: bool = False) -> Any:
    return g.silu(x)


def _round(g: Graph, x: Any, *, decimals: int = 0) -> Any:
    need(decimals == 0, "decimals")
    return g.round(x)


def _where(g: Graph, x: Any, cond: Any, y: Any) -> Any:
    return g.where(cond, x, y)


def _softmax(g: Graph, x: Any, dim: int, dtype: Any = None, **_: Any) -> Any:
    need(dtype is None and x.rank > 0, "dtype")
    return g.softmax(x, dim)


def _log_softmax(g: Graph, x: Any, dim: int, dtype: Any = None, **_: Any) -> Any:
    need(dtype is None and x.rank > 0, "dtype")
    shifted = x - g.stop_gradient(g.reduce_max(x, [dim], True))
    return shifted - g.log(g.reduce_sum(g.exp(shifted), [dim], True))


def _layer_norm(
    g: Graph, x: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    need(eps >= 0, "a negative eps")
    n = prod(normalized_shape)
    flat = g.reshape(x, (*x.shape[: x.rank - len(normalized_shape)], n))
    gamma = g.full((n,), 1.0, x.dtype) if weight is None else g.reshape(weight, (n,))
    beta = g.full((n,), 0.0, x.dtype) if bias is None else g.reshape(bias, (n,))
    return g.reshape(g.layer_norm(flat, gamma, beta, -1, eps), x.shape)


def _cross_entropy(
    g: Graph,
    x: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    need(weight is None and not label_smoothing and target.dtype == "i64", "weights or probabilities")
    need(reduction == "none" and x.rank in (1, 2), "a mean over rows that count")
    return g.softmax_cross_entropy_with_logits(x, target, ignore_index)


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


def _permute(g: Graph, x: Any, *dims: Any) -> Any:
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], Sequence) else dims
    return g.transpose(x, [d % max(x.rank, 1) for d in order])


def _transpose(g: Graph, x: Any, a: int, b: int) -> Any:
    order = list(range(x.rank))
    if order:
        order[a], order[b] = order[b], order[a]
    return g.transpose(x, order)


def _reshape(g: Graph, x: Any, shape: Sequence[int]) -> Any:
    return g.reshape(x, tuple(shape))


def _expand(g: Graph, x: Any, *shape: Any) -> Any:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    lead = len(sizes) - x.rank
    return g.expand(x, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(sizes)])


def _narrow(g: Graph, x: Any, dim: int, start: Any, length: int) -> Any:
    need(isinstance(start, int), "a start in a tensor")
    return g.narrow(x, dim, start % x.shape[dim] if start < 0 else start, length)


def _cat(g: Graph, parts: Sequence[Any], dim: int = 0) -> Any:
    need(all(p.rank == parts[0].rank for p in parts), "an empty vector among tensors")
    return g.concat(list(parts), dim)


def _addmm(g: Graph, c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return g.add(g.mul(c, beta), g.mul(g.matmul(a, b), alpha))


def _embedding(g: Graph, weight: Any, indices: Any, **options: Any) -> Any:
    need(not any(options.values()), "a norm or a padding index")
    return g.gather(weight, indices)


def _index_select(g: Graph, x: Any, dim: int, index: Any) -> Any:
    need(x.rank > 0 and index.rank == 1, "a scalar")
    return g.gather(x, index, dim)


def _index_add(g: Graph, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    need(x.rank > 0 and index.rank == 1, "a scalar")
    return x + g.mul(g.scatter_add(source, index, x.shape[dim], dim), alpha)


def _cumsum(g: Graph, x: Any, dim: int, *, dtype: Any = None) -> Any:
    need(dtype is None and x.rank > 0, "dtype")
    return g.cumsum(x, dim)


def _topk(g: Graph, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The values; the positions of equal ones may differ."""
    need(x.rank > 0 and largest, "the smallest")
    order = [d for d in range(x.rank) if d != dim % x.rank] + [dim % x.rank]
    back = [order.index(d) for d in range(x.rank)]
    return g.transpose(g.topk_values(g.transpose(x, order), k), back)


def _mse_loss(g: Graph, x: Any, y: Any, reduction: str = "mean", **_: Any) -> Any:
    d = x - y
    square = d * d
    return {"none": lambda: square, "sum": lambda: g.reduce_sum(square), "mean": lambda: g.reduce_mean(square)}[
        reduction
    ]()


ADAPTERS: dict[str, Adapter] = {
    **{name: _unary(name) for name in ("exp", "log", "sqrt", "rsqrt", "neg", "sin", "cos", "tan", "atan", "erf")},
    **{name: _unary(name) for name in ("abs", "sigmoid", "tanh")},
    "reciprocal": _unary("recip"),
    "round": _round,
    "nn.functional.gelu": _gelu,
    "nn.functional.silu": _silu,
    "nn.functional.relu": _relu,
    **{name: _binary(name) for name in ("add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge")},
    "maximum": _binary("max"),
    "minimum": _binary("min"),
    "where": _where,
    "sum": _reduction("reduce_sum"),
    "mean": _reduction("reduce_mean"),
    "amax": _reduction("reduce_max"),
    "amin": _reduction("reduce_min"),
    "prod": _reduction("reduce_prod"),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "nn.functional.layer_norm": _layer_norm,
    "nn.functional.cross_entropy": _cross_entropy,
    "nn.functional.mse_loss": _mse_loss,
    "matmul": _matmul,
    "mm": _matmul,
    "bmm": _matmul,
    "mv": _matmul,
    "dot": _matmul,
    "addmm": _addmm,
    "nn.functional.linear": _linear,
    "permute": _permute,
    "transpose": _transpose,
    "reshape": _reshape,
    "expand": _expand,
    "narrow": _narrow,
    "cat": _cat,
    "nn.functional.embedding": _embedding,
    "index_select": _index_select,
    "index_add": _index_add,
    "cumsum": _cumsum,
    "topk": _topk,
}
"""How the samples of an OpInfo are built, by its name."""


def dtype_name(dtype: torch.dtype) -> str:
    """Our name of a PyTorch element type; `NotOurs` for one that mir lacks."""
    names = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64", torch.int32: "i32", torch.bool: "i1"}
    need(dtype in names, f"element type {dtype}")
    return names[dtype]
