"""PyTorch's ops as mir graphs: for each OpInfo, how a sample's arguments become ours. The samples are PyTorch's own.

A form of an op that mir does not have (an `out` dtype, a negative padding) raises `NotOurs`. Here are elementwise ops
and casts, reductions and norms along an axis; shapes and indices, linear algebra, blocks of images and Fourier
transforms are in files of their own.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from numpy import broadcast_shapes

from xdsl_rlx import Graph

Adapter = Callable[..., Any]


class NotOurs(Exception):
    """A form of the op that mir has no equivalent of."""


def need(condition: bool, what: str) -> None:
    """Say that a form is not ours unless `condition` holds."""
    if not condition:
        raise NotOurs(what)


_DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "i1",
    torch.complex64: "c64",
    torch.complex128: "c128",
}


def dtype_name(dtype: torch.dtype) -> str:
    """Our name of a PyTorch element type; `NotOurs` for one that mir lacks."""
    need(dtype in _DTYPES, f"element type {dtype}")
    return _DTYPES[dtype]


def pair(x: Any, n: int = 2) -> tuple[int, ...]:
    """One number for each of `n` dimensions."""
    return tuple(x) if isinstance(x, Sequence) else (x,) * n


def swapped(g: Graph, x: Any, a: int = -1, b: int = -2) -> Any:
    """Two dimensions exchanged."""
    order = list(range(x.rank))
    order[a], order[b] = order[b], order[a]
    return g.transpose(x, order)


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


def _reversed(name: str) -> Adapter:
    return lambda g, x, y, *, alpha=1: getattr(g, name)(y, x if alpha == 1 else g.mul(x, alpha))


def _abs(g: Graph, x: Any) -> Any:
    return g.complex_abs(x) if x.dtype == "c128" else g.abs(x)


def _complex(g: Graph, x: Any, y: Any) -> Any:
    shape = broadcast_shapes(x.shape, y.shape)
    return g.complex(g.expand(x, shape), g.expand(y, shape))


def _clamp(g: Graph, x: Any, min: Any = None, max: Any = None) -> Any:
    need(all(bound is None or bound.dtype == x.dtype for bound in (min, max)), "bounds of another type")
    y = x if min is None else g.max(x, min)
    return y if max is None else g.min(y, max)


def _shift_right(g: Graph, x: Any, by: Any) -> Any:
    """The sign is kept: below 0 it is the complement of the shifted complement."""
    down = g.shift_right_logical
    return g.where(x < 0, -1 - down(-1 - x, by), down(x, by))


def _cast(dtype: torch.dtype) -> Adapter:
    return lambda g, x, memory_format=None: g.cast(x, dtype_name(dtype))


def _to(g: Graph, x: Any, *options: Any, **_: Any) -> Any:
    """To the type named, or that of another tensor."""
    (to,) = (o for o in options if isinstance(o, torch.dtype) or hasattr(o, "dtype"))
    return g.cast(x, dtype_name(to) if isinstance(to, torch.dtype) else to.dtype)


def _extreme(reduce: str, binary: str) -> Adapter:
    """Of two tensors, or the values along a dimension; the positions of equal ones may differ."""

    def build(g: Graph, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None or isinstance(dim, int):
            return getattr(g, reduce)(x, _axes(x, dim), keepdim)
        return getattr(g, binary)(x, dim)

    return build


def _sum_to_size(g: Graph, x: Any, *shape: Any) -> Any:
    return g.unbroadcast(x, shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)


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


def _logsumexp(g: Graph, x: Any, dim: Any, keepdim: bool = False) -> Any:
    axes = _axes(x, dim)
    need(bool(axes), "a scalar")
    top = g.stop_gradient(g.reduce_max(x, axes, True))
    total = g.log(g.reduce_sum(g.exp(x - top), axes, True)) + top
    return total if keepdim else g.reshape(total, [n for i, n in enumerate(x.shape) if i not in axes])


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


def _loss(of: Callable[[Graph, Any], Any]) -> Adapter:
    """Of each difference; their mean or sum."""

    def build(g: Graph, x: Any, y: Any, reduction: str = "mean", **_: Any) -> Any:
        each = of(g, x - y)
        return each if reduction == "none" else _REDUCE[reduction](g, each)

    return build


_REDUCE: dict[str, Adapter] = {"mean": lambda g, x: g.reduce_mean(x), "sum": lambda g, x: g.reduce_sum(x)}

_CASTS = {
    "bfloat16": torch.bfloat16,
    "bool": torch.bool,
    "byte": torch.uint8,
    "char": torch.int8,
    "cdouble": torch.complex128,
    "cfloat": torch.complex64,
    "double": torch.float64,
    "float": torch.float32,
    "half": torch.float16,
    "int": torch.int32,
    "long": torch.int64,
    "short": torch.int16,
}
"""The methods that convert, named as types in C."""

ADAPTERS: dict[str, Adapter] = {
    **{name: _unary(name) for name in ("exp", "log", "sqrt", "rsqrt", "neg", "sin", "cos", "tan", "atan", "erf")},
    **{name: _unary(name) for name in ("sigmoid", "tanh", "real", "imag", "angle")},
    "abs": _abs,
    "complex": _complex,
    "conj": _unary("conjugate"),
    "square": lambda g, x: x**2,
    "reciprocal": _unary("recip"),
    "round": _round,
    "nn.functional.gelu": _gelu,
    "nn.functional.silu": _silu,
    "nn.functional.relu": _relu,
    **{name: _binary(name) for name in ("add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge")},
    **{name: _binary(name) for name in ("atan2", "hypot")},
    **{name: _binary("and_") for name in ("bitwise_and", "logical_and", "__rand__")},
    "bitwise_right_shift": _shift_right,
    "rsub": _reversed("sub"),
    **{f"__r{name}__": _reversed(name) for name in ("add", "sub", "mul", "div", "pow")},
    "maximum": _binary("max"),
    "minimum": _binary("min"),
    "max": _extreme("reduce_max", "max"),
    "min": _extreme("reduce_min", "min"),
    "clamp": _clamp,
    "clamp_min": _binary("max"),
    "clamp_max": _binary("min"),
    "where": _where,
    "masked_fill": lambda g, x, mask, value: g.where(mask, value, x),
    "to": _to,
    **{name: _cast(dtype) for name, dtype in _CASTS.items()},
    "sum": _reduction("reduce_sum"),
    "mean": _reduction("reduce_mean"),
    "amax": _reduction("reduce_max"),
    "amin": _reduction("reduce_min"),
    "prod": _reduction("reduce_prod"),
    "sum_to_size": _sum_to_size,
    "softmax": _softmax,
    "nn.functional.softmin": lambda g, x, dim, **options: _softmax(g, -x, dim, **options),
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "nn.functional.layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm,
    "nn.functional.cross_entropy": _cross_entropy,
    "nn.functional.mse_loss": _loss(lambda g, d: d * d),
    "nn.functional.l1_loss": _loss(lambda g, d: g.abs(d)),
}
"""How the samples of an OpInfo are built, by its name."""
